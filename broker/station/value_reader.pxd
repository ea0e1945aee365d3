cimport cython

cdef int _OBJECT, _TUPLE, _LIST, _PLAIN, _ENUM
cdef object _put

@cython.final
cdef class ValueReader:
    cdef list _objects
    cdef list _layouts
    cdef dict _tables

    cpdef read(self, value)

    @cython.locals(code=int, table=list)
    cdef _build(self, list values)

    @cython.locals(index=Py_ssize_t, made=list)
    cpdef list items(self, list values, Py_ssize_t start)

    @cython.locals(way=int, names=tuple, objects=list, index=Py_ssize_t, at=Py_ssize_t, items=list)
    cdef _object(self, list values)
