/** The view for a token that may only record events. */

import type { View } from "../app";
import { h } from "../dom";
import { emptyState } from "../ui/blocks";
import { copyButton } from "../ui/button";
import { curl } from "../guarantees";

export const ingestView: View = (_app, main) => {
  const command = curl(location.origin, { name: "NAME", keys: null, participation: null, clamp: null });
  main.append(h("h1", { class: "unseen" }, "Events"), emptyState("This token posts events", h("p", {}, "It cannot read releases, so there is nothing to show. To watch counters, sign in with a read token."),
    h("pre", { class: "code", attrs: { tabindex: 0 } }, command), copyButton("Copy command", () => command)));
};
