//! Read-only attributes of Python classes.

/// Declares attributes of a class: the name, the type and the value of each. The values are
/// expressions of `self`.
macro_rules! attributes {
    ($class:ident, $self:ident => { $($(#[$doc:meta])* $name:ident: $type:ty = $value:expr;)* }) => {
        #[pymethods]
        impl $class {
            $(
                $(#[$doc])*
                #[getter]
                pub(crate) fn $name(&$self) -> $type {
                    $value
                }
            )*
        }
    };
}
pub(crate) use attributes;
