// Chromium for the page tests. Every visit must have no console errors and no request to another host.

import { existsSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const SHOTS = fileURLToPath(new URL("../target/", import.meta.url));

/** Why the page tests cannot run here, or null. */
export const missing = existsSync(CHROMIUM) ? null : `there is no Chromium at ${CHROMIUM}; set CHROMIUM to its path to run the page tests`;

export const launch = () => chromium.launch({ executablePath: CHROMIUM, args: FLAGS });

/** A page of its own, watched. `end` fails where something went wrong that the test did not announce. */
export async function visit(browser, base, { token = null, hash = "", width = 1280, height = 860, dark = false, refusals = false, ...rest } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", timezoneId: "Europe/Zurich", reducedMotion: "reduce", acceptDownloads: true, ...rest });
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() !== "error" && message.type() !== "warning") return;
    if (refusals && /status of (4\d\d|503)|ERR_(FAILED|INCOMPLETE_CHUNKED|EMPTY_RESPONSE|CONNECTION)/.test(message.text())) return;
    wrong.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(`${base}/`) && !request.url().startsWith(`blob:${base}/`)) wrong.push(`request to another host: ${request.url()}`);
  });
  page.setDefaultTimeout(8000);
  await page.goto(`${base}/${token ? `#token=${token}` : ""}`);
  if (token) await page.getByRole("button", { name: "Sign out" }).waitFor();
  if (hash) await page.evaluate((to) => (location.hash = to), hash);
  return {
    page,
    async shot(name) {
      mkdirSync(SHOTS, { recursive: true });
      await page.screenshot({ path: `${SHOTS}${name}.png`, fullPage: true });
    },
    async end() {
      await context.close();
      if (wrong.length > 0) throw new Error(wrong.join("\n"));
    },
  };
}

/**
 * Accessibility checks: names, headings, ids, tables, width, and the contrast of every visible text. Runs in
 * the page.
 */
export function audit(page) {
  return page.evaluate(() => {
    const faults = [];
    const shown = (element) => element.checkVisibility({ checkVisibilityCSS: true, checkOpacity: true }) && element.getClientRects().length > 0;
    const say = (what, element) => faults.push(`${what}: ${element.outerHTML.slice(0, 120)}`);

    const labelled = (element) => {
      const ids = element.getAttribute("aria-labelledby")?.split(" ") ?? [];
      return element.getAttribute("aria-label") || ids.map((id) => document.getElementById(id)?.textContent).join("") || [...(element.labels ?? [])].map((label) => label.textContent).join("") || (/^(BUTTON|A|SUMMARY)$/.test(element.tagName) && element.textContent.trim());
    };
    for (const element of document.querySelectorAll("input, select, textarea, button, a[href], summary, [role=group], [role=region], [role=img], dialog, nav")) if (shown(element) && !labelled(element)) say("no name", element);
    for (const element of document.querySelectorAll("svg")) if (element.getAttribute("aria-hidden") !== "true") say("svg is read out", element);
    for (const element of document.querySelectorAll("[aria-describedby]")) for (const id of element.getAttribute("aria-describedby").split(" ")) if (!document.getElementById(id)) say("describes nothing", element);
    for (const element of document.querySelectorAll("table")) if (!element.querySelector("th[scope]")) say("table without headers", element);
    const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
    for (const id of ids) if (ids.filter((other) => other === id).length > 1) faults.push(`id twice: ${id}`);
    if (document.querySelectorAll("h1").length !== 1) faults.push(`${document.querySelectorAll("h1").length} first headings`);
    if (document.querySelectorAll("main").length !== 1) faults.push("not one main");
    if (!document.documentElement.lang) faults.push("no language");
    if (document.documentElement.scrollWidth > innerWidth) faults.push(`wider than the window by ${document.documentElement.scrollWidth - innerWidth}`);
    for (const element of document.querySelectorAll("button, input, select")) if (shown(element) && element.getBoundingClientRect().height < 24) say("too small to touch", element);

    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgba = (colour) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => {
      const [x, y, z] = [r, g, b].map((channel) => (channel / 255 <= 0.04045 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const ground = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const colour = rgba(getComputedStyle(at).backgroundColor);
        if (colour[3] === 255) return colour;
      }
      return [255, 255, 255, 255];
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.textContent.trim() || !shown(element) || element.closest("[disabled], .preview-old, svg, option, noscript")) continue;
      const [a, b] = [light(rgba(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
      if ((a + 0.05) / (b + 0.05) < 4.5) say(`contrast ${((a + 0.05) / (b + 0.05)).toFixed(2)}`, element);
    }
    return faults;
  });
}
