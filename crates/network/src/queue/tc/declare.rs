//! The declarations: of the settings of a discipline, and of a setting that is one of several words.

/// Declares the settings of a discipline, each once: its key and default in scenarios, and its words in `tc`. From the
/// declaration come the struct, its defaults, its bounds, and the words that are written and read ([`Dialect`]).
///
/// ```text
/// settings! {
///     /// The settings of a discipline.
///     pub struct Settings in "red", limit bytes {
///         /// A number behind the key, from 1 to 1000
///         burst: Option<u32> = None, value, from 1, to 1000;
///         /// A number that `tc` prints with a letter
///         step: u32 = 0, value "p";
///         /// A switch with a word each way
///         ecn: bool = false, words("ecn" = true, "noecn" = false);
///         /// A setting that `tc` lacks
///         gentle: bool = false, words();
///         /// `tc` has another default
///         bandwidth: Option<Rate> = None, value, omitted Some(Rate::from_mbit(10));
///     }
///     shorthands { "adaptative" = |red| red.adaptive = true; }
///     passed { "split_gso" = "packets are single segments"; }
///     refused { "qevent" = "there are no filters"; }
///     settled |red| red.harddrop &= red.ecn;
/// }
/// ```
///
/// Words are written in the order of the declaration. `if other` leaves a default of `tc` unwritten. `unless` names a
/// switch that `tc` has in place of the setting. `from` and `to` are the least and the largest value, for the check
/// and the JSON schema. `framed` takes the keywords of framing. `settled` changes the settings once all words are read.
macro_rules! settings {
    (
        $(#[$about:meta])*
        pub struct $settings:ident in $name:literal, limit $bound:ident $(, rate $rate:literal)? {$(
            $(#[$meaning:meta])+
            $field:ident: $kind:ty = $default:expr, $form:ident $($suffix:literal)?
                $(($($word:literal = $value:expr),*))? $(, unless $unless:ident)? $(, if $other:ident)?
                $(, omitted $omitted:expr)? $(, from $least:expr, to $most:expr)?;
        )+}
        $(shorthands {$($shorthand:literal = $set:expr;)+})?
        $(framed |$framed:ident, $frame:ident| $framing:block)?
        $(passed {$($passed:literal = $passed_why:literal;)+})?
        $(refused {$($refused:literal = $refused_why:literal;)+})?
        $(settled $settle:expr;)?
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schemars(transform = Self::describe_bounds)]
        pub struct $settings {$(
            $(#[$meaning])+
            pub $field: $kind,
        )+}

        impl Default for $settings {
            fn default() -> Self {
                Self { $($field: $default),+ }
            }
        }

        units::bounds! {
            $settings {$($(
                $field: $kind = $least, $most;
            )?)+}
        }

        impl $settings {
            /// The words of `tc`.
            pub(super) const DIALECT: $crate::queue::tc::Dialect<Self> = $crate::queue::tc::Dialect {
                name: $name,
                bound: $crate::queue::tc::settings!(@bound $bound),
                rate: $crate::queue::tc::settings!(@option $($rate)?),
                omitted: || Self { $($($field: $omitted,)?)+ ..Self::default() },
                settings: &[$(
                    &$crate::queue::tc::Setting::<Self, $kind> {
                        key: stringify!($field),
                        form: $crate::queue::tc::settings!(@$form $kind $(, $suffix)? $(, $($word = $value),*)?),
                        of: |settings| &settings.$field,
                        of_mut: |settings| &mut settings.$field,
                        if_other: $crate::queue::tc::settings!(@if $($other)?),
                        unless: $crate::queue::tc::settings!(@option $(|settings: &mut Self| &mut settings.$unless)?),
                    },
                )+],
                shorthands: &[$($(($shorthand, $set)),+)?],
                framed: $crate::queue::tc::settings!(
                    @option $(|$framed: &mut Self, $frame: $crate::framing::Frame| $framing)?
                ),
                passed: &[$($(($passed, $passed_why)),+)?],
                refused: &[$($(($refused, $refused_why)),+)?],
                settle: $crate::queue::tc::settings!(@option $($settle)?),
            };
        }
    };
    (@bound packets) => { $crate::queue::tc::Bound::Packets };
    (@bound bytes) => { $crate::queue::tc::Bound::Bytes };
    (@bound $setting:ident) => { $crate::queue::tc::Bound::Setting(stringify!($setting)) };
    (@option) => { None };
    (@option $some:expr) => { Some($some) };
    (@if) => { false };
    (@if other) => { true };
    (@value $kind:ty) => { $crate::queue::tc::Form::value("") };
    (@value $kind:ty, $suffix:literal) => { $crate::queue::tc::Form::value($suffix) };
    (@words $kind:ty, $($word:literal = $value:expr),*) => { $crate::queue::tc::Form::Words(&[$(($word, $value)),*]) };
    (@choice $kind:ty) => { $crate::queue::tc::Form::Words(<$kind>::WORDS) };
}
pub(crate) use settings;

/// Declares a setting that is one of several words, spelled alike in scenarios and in `tc`.
macro_rules! choices {
    (
        $(#[$about:meta])*
        pub enum $choice:ident {$(
            $(#[$meaning:meta])+
            $variant:ident = $word:literal,
        )+}
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $choice {$(
            $(#[$meaning])+
            #[serde(rename = $word)]
            $variant,
        )+}

        impl $choice {
            /// Every word and its meaning.
            pub(crate) const WORDS: &[(&str, Self)] = &[$(($word, Self::$variant)),+];

            /// The name in `tc`.
            pub const fn name(self) -> &'static str {
                match self {$(
                    Self::$variant => $word,
                )+}
            }
        }
    };
}
pub(crate) use choices;
