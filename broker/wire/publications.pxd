cimport cython

from broker.publication cimport Publication

@cython.locals(index=Py_ssize_t, size_bytes=Py_ssize_t, number=cython.ulonglong, publication=Publication)
cpdef tuple going_on(messages, Py_ssize_t start, str publisher, unsigned long long sequence, matches)

@cython.locals(mark=int, publication=Publication, frames=list)
cpdef bytes joined(messages)

@cython.locals(publication=Publication, frames=list, latest_ns=cython.ulonglong, published_ns=cython.ulonglong)
cpdef tuple plainly_joined(publications)
