/** The start of the page: signs in with a token, and shows the view of the address. */

import "./styles/index.css";
import { Api } from "./api";
import { route, setServiceTime, type App, type View } from "./app";
import { h } from "./dom";
import { asProblem, sentence } from "./problem";
import * as session from "./session";
import { shell, type Shell } from "./shell";
import { applyTheme } from "./theme";
import type { ServiceStatus } from "./types";
import { problemBox } from "./ui/blocks";
import { budgetView } from "./views/budget";
import { counterView } from "./views/counter";
import { createView } from "./views/create";
import { epochView } from "./views/epoch";
import { ingestView } from "./views/ingest";
import { overview } from "./views/overview";
import { signIn } from "./views/sign-in";
import { tokensView } from "./views/tokens";
import { notFoundView } from "./views/not-found";

const STATUS_EVERY = 10_000;
const REFUSED = "The token was refused: it may have expired or been revoked. Sign in with another one.";

const root = document.getElementById("app")!;
let signedIn: AbortController | null = null;

function viewFor(hash: string, status: ServiceStatus): { view: View; title: string } {
  if (status.role === "ingest") return { view: ingestView, title: "Events" };
  const wanted = route(hash);
  const admin = status.role === "admin";
  switch (wanted.view) {
    case "counters": return { view: overview, title: "Counters" };
    case "counter": return { view: counterView(wanted.name), title: wanted.name };
    case "budget": return { view: budgetView, title: "Budget" };
    case "create": return admin ? { view: createView, title: "New counter" } : { view: notFoundView, title: "Not found" };
    case "tokens": return admin ? { view: tokensView, title: "Tokens" } : { view: notFoundView, title: "Not found" };
    case "epoch": return admin ? { view: epochView, title: "New epoch" } : { view: notFoundView, title: "Not found" };
    case "unknown": return { view: notFoundView, title: "Not found" };
  }
}

function leave(message: string): void {
  signedIn?.abort();
  signedIn = null;
  session.forget();
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
  signIn(root, message, connect);
}

/** Shows views until the session ends. */
function enter(api: Api, first: ServiceStatus): void {
  signedIn?.abort();
  const all = new AbortController();
  signedIn = all;
  const listeners = new Set<(status: ServiceStatus) => void>();

  const frame: Shell = shell(() => leave("You have signed out. The token is no longer in this browser."));
  const app: App = {
    api,
    status: first,
    async refreshStatus() {
      try {
        app.status = await api.status(all.signal);
        setServiceTime(app.status.now);
        frame.setReachable(true);
        for (const listener of listeners) listener(app.status);
      } catch (cause) {
        if (!all.signal.aborted && asProblem(cause).className === "unreachable") frame.setReachable(false);
      }
    },
    onStatus(signal, listener) {
      listeners.add(listener);
      signal.addEventListener("abort", () => listeners.delete(listener), { once: true });
    },
    announce: frame.announce,
  };
  setServiceTime(first.now);
  frame.setStatus(first);
  app.onStatus(all.signal, frame.setStatus);
  root.replaceChildren(frame.element);

  let leaveView: AbortController | null = null;
  const show = (moved: boolean) => {
    leaveView?.abort();
    const here = new AbortController();
    leaveView = here;
    const { view, title } = viewFor(location.hash, app.status);
    document.title = `${title} · Evertally`;
    frame.setCurrent(location.hash);
    // A view that was left may still write into its own element, which is no longer on the page.
    const main = h("main", { attrs: { id: "main", tabindex: -1 } });
    frame.replaceMain(main);
    Promise.resolve(view(app, main, here.signal)).catch((cause: unknown) => {
      if (!here.signal.aborted) main.replaceChildren(problemBox(cause, () => show(true)));
    });
    if (moved) {
      scrollTo(0, 0);
      main.focus({ preventScroll: true });
    }
  };
  addEventListener("hashchange", () => {
    if (session.adoptFromAddress()) void start();
    else show(true);
  }, { signal: all.signal });
  // A link to the current address causes no event, so the view is drawn again here.
  root.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link && link.getAttribute("href") === location.hash) show(true);
  }, { signal: all.signal });
  all.signal.addEventListener("abort", () => leaveView?.abort(), { once: true });
  const look = () => {
    if (document.visibilityState === "visible") void app.refreshStatus();
  };
  const timer = setInterval(look, STATUS_EVERY);
  document.addEventListener("visibilitychange", look, { signal: all.signal });
  all.signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  show(false);
}

/** Signs in with a token if the service accepts it. */
async function connect(token: string): Promise<void> {
  let entered = false;
  const api = new Api(token, () => {
    if (entered) leave(REFUSED);
  });
  const status = await api.status();
  entered = true;
  session.keep(token);
  enter(api, status);
}

async function start(): Promise<void> {
  const token = session.current();
  if (token === null) return signIn(root, null, connect);
  try {
    await connect(token);
  } catch (cause) {
    if (asProblem(cause).status === 401) leave(REFUSED);
    else signIn(root, sentence(cause), connect, () => void start());
  }
}

applyTheme();
session.adoptFromAddress();
void start();
