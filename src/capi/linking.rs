//! Symbols of the C library that a static program needs besides those that Rust code calls.

/// Declares functions of which only the addresses are used, and lists them.
#[cfg(target_os = "linux")]
macro_rules! references {
    ($($function:ident),+) => {
        unsafe extern "C" {
            $(fn $function();)+
        }
        static THREAD_FUNCTIONS: &[unsafe extern "C" fn()] = &[$($function),+];
    };
}

// The run-time libraries of C++ and Fortran refer to these functions weakly and, where there is one of them,
// call all: without these references a static program has some of them and null pointers for the others.
#[cfg(target_os = "linux")]
references! {
    pthread_cond_broadcast, pthread_cond_destroy, pthread_cond_init, pthread_cond_wait, pthread_create,
    pthread_getspecific, pthread_join, pthread_key_create, pthread_key_delete, pthread_mutex_destroy,
    pthread_mutex_init, pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_unlock, pthread_once,
    pthread_self, pthread_setspecific
}

/// Keeps the references in every program that calls an export.
pub(super) fn keep_thread_functions() {
    #[cfg(target_os = "linux")]
    std::hint::black_box(&THREAD_FUNCTIONS);
}
