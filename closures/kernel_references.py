"""Tables and workspaces handed on by where they lie: a robot has seventy arrays, and numba hands over each with seven numbers."""

from numba.core import cgutils
from numba.core.extending import infer_getattr, lower_getattr_generic
from numba.core.imputils import impl_ret_borrowed
from numba.core.types import Type, void
from numba.core.types.containers import NamedTuple
from numba.core.typing.templates import AttributeTemplate
from numba.extending import intrinsic, models, register_model


class Address(Type):
    """A reference to a named tuple, whose fields are read where they lie; a field that is a named tuple is a reference itself."""

    def __init__(self, table):
        self.table = table
        super().__init__(f"Address({table})")

    def field(self, name):
        return self.table.types[self.table.fields.index(name)]


@register_model(Address)
class AddressModel(models.PrimitiveModel):
    def __init__(self, manager, reference):
        super().__init__(manager, reference, manager.lookup(reference.table).get_data_type().as_pointer())


@infer_getattr
class FieldTypes(AttributeTemplate):
    key = Address

    def generic_resolve(self, reference, name):
        if name not in reference.table.fields:
            return None
        kind = reference.field(name)
        return Address(kind) if isinstance(kind, NamedTuple) else kind


@lower_getattr_generic(Address)
def read_field(context, builder, reference, address, name):
    place = cgutils.gep_inbounds(builder, address, 0, reference.table.fields.index(name))
    kind = reference.field(name)
    if isinstance(kind, NamedTuple):
        return place
    value = context.data_model_manager[kind].load_from_data_pointer(builder, place)
    return impl_ret_borrowed(context, builder, kind, value)


@intrinsic
def by_reference(typingctx, table):
    """A reference to a named tuple, good until the function returns that asks for it. A tuple that is made there must be `still_needed` at its end."""

    def lay_down(context, builder, signature, values):
        model = context.data_model_manager[table]
        place = cgutils.alloca_once(builder, model.get_data_type())
        builder.store(model.as_data(builder, values[0]), place)
        return place

    return Address(table)(table), lay_down


@intrinsic
def still_needed(typingctx, tuples):
    """Their arrays live at least until here: numba forgets what is not named any more, however it is referred to."""
    return void(tuples), lambda context, builder, signature, values: context.get_dummy_value()
