//! Every rule of every stack, for review: a value of a profile moves only where its source says so.

use transport::PROFILES;

#[test]
fn profiles_have_the_rules_of_their_stacks() {
    for profile in PROFILES {
        insta::assert_debug_snapshot!(profile.name, (profile.stack)());
    }
}
