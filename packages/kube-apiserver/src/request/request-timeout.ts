// SPDX-License-Identifier: Apache-2.0
import { badRequest, timeout } from "@purlin/kube-objects/errors";
import { goQuote } from "@purlin/kube-objects/json";
import { type CompleteResponse, documentPayload } from "./api-request.ts";

/** The longest timeout of a request, as in the reference. */
const mostMs = 60_000;

/**
 * The milliseconds that the `timeout` in the query leaves for an answer; undefined when it is not shorter than the default. Throws
 * 400 for a value that Go does not parse as a duration such as `1m30s`.
 */
export function requestTimeoutMs(query: URLSearchParams): number | undefined {
  const text = query.get("timeout") ?? "";
  if (text === "") return undefined;
  const duration = parseDuration(text);
  if (typeof duration === "string") throw badRequest(`invalid timeout specified in the request URL - ${duration}`);
  // None, and less than none, mean that the client has all the time there is.
  return duration > 0 && duration < mostMs ? duration : undefined;
}

/** The outcome of the work; undefined when it did not come in time. The work continues: only a read shows its outcome. */
export async function inTime<T>(timeoutMs: number | undefined, work: () => Promise<T>): Promise<T | undefined> {
  if (timeoutMs === undefined) return work();
  const late = Promise.withResolvers<undefined>();
  const started = performance.now();
  const timer = setTimeout(() => late.resolve(undefined), Math.ceil(timeoutMs));
  try {
    const outcome = await Promise.race([work(), late.promise]);
    return performance.now() - started > timeoutMs ? undefined : outcome;
  } finally {
    clearTimeout(timer);
  }
}

/** The response to a request that timed out, as the reference writes it: without negotiation, and without a kind. */
export function tooLate(): CompleteResponse {
  const { kind: _, apiVersion: __, ...status } = timeout("request did not complete within the allotted timeout").status;
  const form = { mediaType: "application/json", contentType: "text/plain; charset=utf-8" } as const;
  return { kind: "complete", code: 504, payload: documentPayload(status, form) };
}

const unitsMs: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["μs", 1e-3],
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

/** A Go duration in milliseconds, or Go's error about an invalid one. */
function parseDuration(text: string): number | string {
  const invalid = `time: invalid duration ${goQuote(text)}`;
  let rest = text.replace(/^[-+]/, "");
  if (rest === "0") return 0;
  if (rest === "") return invalid;
  let sum = 0;
  while (rest !== "") {
    const [part, number = "", unit = ""] = /^(\d*\.?\d*)([^\d.]*)/.exec(rest) ?? [""];
    if (!/\d/.test(number)) return invalid;
    const unitMs = unitsMs.get(unit);
    if (unitMs === undefined) {
      return unit === ""
        ? `time: missing unit in duration ${goQuote(text)}`
        : `time: unknown unit ${goQuote(unit)} in duration ${goQuote(text)}`;
    }
    sum += Number(number) * unitMs;
    rest = rest.slice(part.length);
  }
  return text.startsWith("-") ? -sum : sum;
}
