from tilegym.backend.dispatcher import dispatch as dispatch
from tilegym.backend.dispatcher import register_impl as register_impl
from tilegym.backend.selector import set_backend as set_backend
