cimport cython

cdef int _OBJECT, _TUPLE, _LIST, _DICT, _DEQUE, _PLAIN, _ENUM
cdef object _new

@cython.final
cdef class ValueReader:
    cdef list _objects
    cdef list _layouts
    cdef list _tables

    cpdef read(self, value)

    @cython.locals(code=int, table=list)
    cdef _build(self, list values)

    @cython.locals(index=Py_ssize_t, items=list)
    cpdef list items(self, list values, Py_ssize_t start)

    @cython.locals(way=int, puts=tuple, objects=list, index=Py_ssize_t, at=Py_ssize_t, items=list)
    cdef _object(self, list values)
