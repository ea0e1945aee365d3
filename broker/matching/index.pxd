cimport cython

@cython.locals(tests=tuple)
cdef object _try_each(list items, attributes, list found)

@cython.locals(by_name=dict)
cdef object _look_up(list pending, attributes, list found)
