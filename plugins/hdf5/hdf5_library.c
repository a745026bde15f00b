#define _GNU_SOURCE /* dladdr */
#include "hdf5_library.h"

#include <dlfcn.h>
#include <string.h>

#include "factz.h"
#include "log.h"

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
        {&library->get_size, "H5Tget_size"},
        {&library->get_order, "H5Tget_order"},
        {&library->get_precision, "H5Tget_precision"},
        {&library->get_fields, "H5Tget_fields"},
        {&library->get_exponent_bias, "H5Tget_ebias"},
        {&library->get_norm, "H5Tget_norm"},
        {&library->get_rank, "H5Sget_simple_extent_ndims"},
        {&library->get_extent, "H5Sget_simple_extent_dims"},
        {&library->get_id_type, "H5Iget_type"},
    };
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
        if (!find(wanted[k].target, handle, base, wanted[k].name)) {
            dlclose(handle);
            return false;
        }
    }
    find(&library->iterate, handle, base, "H5Iiterate");
    return true;
}

void hdf5_close(struct hdf5_library *library)
{
    dlclose(library->handle);
}

/* The functions of the error stack. */
struct error_functions {
    hid_t (*add_class)(const char *name, const char *library, const char *version);
    herr_t (*remove_class)(hid_t error_class);
    hid_t (*create_text)(hid_t error_class, int type, const char *text);
    herr_t (*close_text)(hid_t text);
    hid_t (*create)(void);
    herr_t (*push)(hid_t stack, const char *file, const char *function, unsigned line, hid_t error_class,
        hid_t major, hid_t minor, const char *format, ...);
    herr_t (*make_current)(hid_t stack);
};

static bool find_error_functions(struct error_functions *h5, void *handle, const void *base)
{
    return find(&h5->add_class, handle, base, "H5Eregister_class") &&
           find(&h5->remove_class, handle, base, "H5Eunregister_class") &&
           find(&h5->create_text, handle, base, "H5Ecreate_msg") &&
           find(&h5->close_text, handle, base, "H5Eclose_msg") &&
           find(&h5->create, handle, base, "H5Ecreate_stack") && find(&h5->push, handle, base, "H5Epush2") &&
           find(&h5->make_current, handle, base, "H5Eset_current_stack");
}

void hdf5_error(const void *caller, enum hdf5_action action, const char *message)
{
    struct error_functions h5;
    const void *base = NULL;
    void *handle = object_of(caller, &base);
    log_line(message);
    if (!handle)
        return;
    if (find_error_functions(&h5, handle, base)) {
        hid_t error_class = h5.add_class("factz", "libh5zfactz", factz_version());
        hid_t major = h5.create_text(error_class, H5E_MAJOR, "HDF5 filter for vector fields");
        hid_t minor = h5.create_text(error_class, H5E_MINOR,
            action == HDF5_CREATE_DATASET ? "Dataset refused" : "Chunk neither compressed nor read");
        /* While a filter runs, HDF5 2.0 takes no message on the current stack, but another stack. */
        hid_t stack = h5.create();
        h5.push(stack, "factz_filter.c", "factz", 0, error_class, major, minor, "%s", message);
        /* The stack has references of its own. Any later call would clear it. */
        h5.close_text(minor);
        h5.close_text(major);
        h5.remove_class(error_class);
        h5.make_current(stack);
    }
    dlclose(handle);
}
