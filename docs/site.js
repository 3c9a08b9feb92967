// The theme makes boxes that scroll, and bars of buttons, without names. Readers with a keyboard or a screen reader
// reach wide tables only if their boxes take the focus.
document.addEventListener("DOMContentLoaded", () => {
  const name = (selector, words) =>
    document.querySelectorAll(selector).forEach((element, index) => {
      element.setAttribute("aria-label", `${words} ${index + 1}`);
    });
  const reach = () => {
    document.querySelectorAll(".md-typeset__scrollwrap").forEach((box) => {
      box.tabIndex = 0;
      box.setAttribute("role", "region");
    });
    name(".md-typeset__scrollwrap", "table");
    name(".md-code__nav", "buttons of code");
    document.querySelector(".md-search[role=dialog]")?.setAttribute("aria-label", "search");
  };
  // The theme makes them after this event, and more when parts of a page are shown.
  new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
  reach();
});
