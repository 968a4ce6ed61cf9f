/** The view for an unknown address, or for one that this token may not see. */

import { paths, type View } from "../app";
import { h } from "../dom";
import { emptyState } from "../ui/blocks";

export const notFoundView: View = (_app, main) => {
  main.append(h("h1", { class: "unseen" }, "Not found"), emptyState("There is nothing here", h("p", {}, "The address leads nowhere, or the token that you signed in with may not see it."),
    h("a", { class: "button", attrs: { href: paths.counters } }, "To the counters")));
};
