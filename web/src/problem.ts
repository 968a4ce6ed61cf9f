/** What went wrong, and which field of a form it concerns. Pure. */

export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly className: string,
    message: string,
    /** The field of the request that must change, as the service names it. */
    readonly field: string | null = null,
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }
}

/** What to do about a problem, for classes whose message does not say it. */
const ADVICE = new Map([
  ["unreachable", "The service does not answer. Check that it runs and that this machine can reach it."],
  ["forbidden", "This token's role does not allow that. Sign in with another token."],
  ["budget-spent", "Lower ε, or take another population that has budget left."],
  ["fenced", "The service has stopped releasing. See the notice at the top of the page."],
  ["read-only", "The service could not write to its storage and takes no changes. See the notice at the top of the page."],
]);

export function advice({ className, retryAfter }: Problem): string {
  if (className !== "too-many-requests" && className !== "busy") return ADVICE.get(className) ?? "";
  return retryAfter === null ? "Try again in a moment." : `Try again in ${retryAfter} s.`;
}

export function asProblem(cause: unknown): Problem {
  if (cause instanceof Problem) return cause;
  return new Problem(0, "page", cause instanceof Error ? cause.message : String(cause));
}

/** A failure and what to do about it. */
export function sentence(cause: unknown): string {
  const problem = asProblem(cause);
  return [asSentence(problem.message), advice(problem)].filter(Boolean).join(" ");
}

/** A message with a capital letter and a full stop. */
export function asSentence(message: string): string {
  const stop = [".", "!", "?"].some((mark) => message.endsWith(mark)) ? "" : ".";
  return message.charAt(0).toUpperCase() + message.slice(1) + stop;
}
