/** The frame around every view: name, navigation, theme, sign-out, and notices about the service. */

import { paths } from "./app";
import { h, setText } from "./dom";
import { plural } from "./format";
import { asSentence } from "./problem";
import { nextTheme, setTheme, theme } from "./theme";
import type { ServiceStatus } from "./types";
import { tally } from "./ui/blocks";

export interface Shell {
  element: HTMLElement;
  replaceMain(main: HTMLElement): void;
  setStatus(status: ServiceStatus): void;
  setCurrent(hash: string): void;
  setReachable(reachable: boolean): void;
  announce(message: string): void;
}

export function themeButton(): HTMLButtonElement {
  const word = h("span", {}, theme());
  return h("button", { class: "button button-quiet", attrs: { type: "button" }, on: { click: () => {
    setTheme(nextTheme(theme()));
    setText(word, theme());
  } } }, h("span", { class: "theme-label" }, "Theme:\u00a0"), word);
}

function banner(status: ServiceStatus): HTMLElement | null {
  if (status.mode === "running") {
    if (status.counters.fenced === 0 || status.role === "ingest") return null;
    return h("div", { class: "banner banner-quiet", attrs: { role: "status" } },
      h("span", {}, `${plural(status.counters.fenced, "counter was", "counters were")} left out of the last epoch, because the population could not pay.`),
      status.role === "admin" && h("a", { attrs: { href: paths.epoch } }, "See what it would cost"));
  }
  const reason = status.reason ? ` The service says: ${asSentence(status.reason)}` : "";
  if (status.mode === "read-only") {
    return h("div", { class: "banner", attrs: { role: "alert" } }, h("div", { class: "banner-text" },
      h("strong", {}, "The service is read-only."),
      h("p", {}, `A write to the disk may have failed, so the service records no events and makes no releases. Earlier releases stay readable.${reason} Check the disk, then start the service again.`)));
  }
  return h("div", { class: "banner", attrs: { role: "alert" } },
    h("div", { class: "banner-text" },
      h("strong", {}, "Releases have stopped: the service is fenced."),
      h("p", {}, `The stored data looks like a restored backup or a copy. Continuing from it could release the same step twice with different noise, which would cost privacy that nobody accounted for.${reason} ${status.role === "admin" ? "In a new epoch the counters continue with fresh noise, at a cost that is shown first." : "An administrator can start a new epoch."}`)),
    status.role === "admin" && h("a", { class: "button button-primary", attrs: { href: paths.epoch } }, "See what a new epoch costs"));
}

export function shell(signOut: () => void): Shell {
  const notices = h("div", { class: "notices" });
  const unreachable = h("div", { class: "banner banner-quiet", attrs: { role: "status", hidden: true } }, "The service does not answer. This page may be out of date. It keeps trying.");
  const nav = h("nav", { attrs: { "aria-label": "Views" } });
  const who = h("span", { class: "who" });
  const live = h("div", { class: "toast", attrs: { role: "status", "aria-live": "polite" } });
  let main: HTMLElement = h("main", { attrs: { id: "main" } });
  let shownMode = "";
  let shownRole = "";
  let current = "";
  let clearing: ReturnType<typeof setTimeout> | undefined;

  const markCurrent = () => {
    for (const link of nav.querySelectorAll("a")) {
      const href = link.getAttribute("href")!;
      const here = href === paths.counters ? current === "" || current === "#/" || current.startsWith("#/counters") : current.startsWith(href);
      if (here) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  };

  const element = h("div", { class: "shell" },
    h("a", { class: "skip", attrs: { href: "#main" }, on: { click: (event) => {
      event.preventDefault();
      main.focus();
    } } }, "Skip to content"),
    h("header", { class: "top" },
      h("a", { class: "brand", attrs: { href: paths.counters } }, tally(), "Evertally"),
      nav,
      h("div", { class: "top-end" }, who, themeButton(),
        h("button", { class: "button button-quiet", attrs: { type: "button" }, on: { click: signOut } }, "Sign out"))),
    notices, unreachable, main,
    h("footer", { class: "foot" }, `Times are in ${Intl.DateTimeFormat().resolvedOptions().timeZone}. `,
      h("a", { attrs: { href: "/openapi.json" } }, "Interface description"), " · ",
      h("a", { attrs: { href: "/licenses.txt" } }, "Licences")),
    live);

  return {
    element,
    replaceMain(next) {
      main.replaceWith(next);
      main = next;
    },
    setStatus(status) {
      setText(who, status.token_name.includes(status.role) ? status.token_name : `${status.token_name} (${status.role})`);
      const mode = JSON.stringify([status.mode, status.reason, status.role, status.counters.fenced]);
      if (mode !== shownMode) {
        shownMode = mode;
        const notice = banner(status);
        notices.replaceChildren(...(notice ? [notice] : []));
      }
      if (status.role !== shownRole) {
        shownRole = status.role;
        const links: [string, string][] =
          status.role === "ingest" ? [] : [[paths.counters, "Counters"], [paths.budget, "Budget"], ...(status.role === "admin" ? [[paths.tokens, "Tokens"] as [string, string]] : [])];
        nav.replaceChildren(...links.map(([href, label]) => h("a", { attrs: { href } }, label)));
        markCurrent();
      }
    },
    setCurrent(hash) {
      current = hash;
      markCurrent();
    },
    setReachable(reachable) {
      unreachable.hidden = reachable;
    },
    announce(message) {
      setText(live, message);
      clearTimeout(clearing);
      clearing = setTimeout(() => setText(live, ""), 6000);
    },
  };
}
