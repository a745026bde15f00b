#define _GNU_SOURCE /* dladdr */
#include "hdf5_library.h"

#include <dlfcn.h>
#include <string.h>

/* A handle of the loaded object that an address belongs to; NULL where there is none. */
static void *object_of(const void *address, const void **base)
{
    Dl_info object;
    if (!dladdr(address, &object) || !object.dli_fname)
        return NULL;
    *base = object.dli_fbase;
    void *handle = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    /* The dynamic linker does not know the program itself by its name. */
    return handle ? handle : dlopen(NULL, RTLD_LAZY);
}

/* A symbol of that object, and of none that it depends on or that comes before it. */
static void *symbol_of(void *handle, const void *base, const char *name)
{
    Dl_info object;
    void *symbol = dlsym(handle, name);
    return symbol && dladdr(symbol, &object) && object.dli_fbase == base ? symbol : NULL;
}

/* ISO C has no conversion of object pointers to function pointers. */
static bool find(void *target, void *handle, const void *base, const char *name)
{
    void *symbol = symbol_of(handle, base, name);
    memcpy(target, &symbol, sizeof symbol);
    return symbol != NULL;
}

bool hdf5_open(struct hdf5_library *library, const void *caller)
{
    const void *base = NULL;
    void *handle = object_of(caller, &base);
    if (!handle)
        return false;
    library->handle = handle;
    const struct {
        void *target;
        const char *name;
    } wanted[] = {
        {&library->get_chunk, "H5Pget_chunk"},
        {&library->get_filter, "H5Pget_filter2"},
        {&library->get_filter_by_id, "H5Pget_filter_by_id2"},
        {&library->modify_filter, "H5Pmodify_filter"},
        {&library->fill_value_defined, "H5Pfill_value_defined"},
        {&library->get_fill_value, "H5Pget_fill_value"},
        {&library->get_class, "H5Tget_class"},
        {&library->equal, "H5Tequal"},
        {&library->get_rank, "H5Sget_simple_extent_ndims"},
        {&library->floats[0], "H5T_IEEE_F32LE_g"},
        {&library->floats[1], "H5T_IEEE_F32BE_g"},
        {&library->floats[2], "H5T_IEEE_F64LE_g"},
        {&library->floats[3], "H5T_IEEE_F64BE_g"},
    };
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
        if (!find(wanted[k].target, handle, base, wanted[k].name)) {
            dlclose(handle);
            return false;
        }
    }
    return true;
}

void hdf5_close(struct hdf5_library *library)
{
    dlclose(library->handle);
}

void hdf5_error(const void *caller, enum hdf5_action action, const char *message)
{
    hid_t (*create)(void);
    herr_t (*push)(hid_t stack, const char *file, const char *function, unsigned line, hid_t error_class,
        hid_t major, hid_t minor, const char *format, ...);
    herr_t (*make_current)(hid_t stack);
    const hid_t *error_class, *major, *minor;
    const void *base = NULL;
    void *handle = object_of(caller, &base);
    if (!handle)
        return;
    const char *minor_name = action == HDF5_CREATE_DATASET ? "H5E_SETLOCAL_g" : "H5E_CANTFILTER_g";
    if (find(&create, handle, base, "H5Ecreate_stack") && find(&push, handle, base, "H5Epush2") &&
        find(&make_current, handle, base, "H5Eset_current_stack") &&
        find(&error_class, handle, base, "H5E_ERR_CLS_g") && find(&major, handle, base, "H5E_PLINE_g") &&
        find(&minor, handle, base, minor_name)) {
        /* While a filter runs, HDF5 2.0 takes no message on the current stack, but another stack. */
        hid_t stack = create();
        push(stack, "factz_filter.c", "factz", 0, *error_class, *major, *minor, "%s", message);
        make_current(stack);
    }
    dlclose(handle);
}
