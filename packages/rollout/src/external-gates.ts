// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import type { Clock } from "@purlin/base";
import { textOf } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import type { ExternalNumber } from "./gates.ts";
import type { Gate } from "./plan.ts";

/** Asks Prometheus servers and webhooks, in the background. */
export interface ExternalGates {
  /** The last answer since a moment; asks again when it is older than the interval of the gate. */
  answer(gate: Gate, question: ExternalQuestion): ExternalNumber | undefined;
  forget(rolloutUid: string): void;
}

/** What a gate asks about. */
interface ExternalQuestion {
  readonly rolloutUid: string;
  /** Answers before it do not count. */
  readonly since: number;
  /** The body of a webhook request. */
  readonly body: () => JsonObject;
}

type Fetch = (url: string, options: RequestInit) => Promise<Response>;

interface Answer {
  readonly at: number;
  readonly value: ExternalNumber;
}

const timeoutMs = 10_000;
const maxBytes = 1024 * 1024;
/** Characters of an answer that a message shows. */
const maxShown = 256;

/** Makes the client of external gates. */
export function createExternalGates(clock: Pick<Clock, "now">, fetching: Fetch = fetch): ExternalGates {
  const answers = new Map<string, Answer>();
  const asking = new Set<string>();
  const ask = async (key: string, gate: Gate, body: JsonObject): Promise<void> => {
    asking.add(key);
    // The answer is about the moment of the question.
    const at = clock.now();
    const value = await request(gate, body, fetching).catch((error: unknown) => ({
      unknown: `${gate.url}: ${textOf(error)}`,
    }));
    if (asking.delete(key)) answers.set(key, { at, value });
  };
  return {
    answer(gate, { rolloutUid, since, body }) {
      const key = `${rolloutUid}/${gate.name}`;
      const found = answers.get(key);
      // After the clock went back nothing is known about the age of an answer.
      const known = found !== undefined && found.at > clock.now() ? undefined : found;
      const isDue = known === undefined || known.at < since || clock.now() - known.at >= gate.intervalMs;
      if (isDue && !asking.has(key)) void ask(key, gate, body());
      // An answer that could not be renewed for a while is outdated.
      const isOld = known !== undefined && clock.now() - known.at > 3 * gate.intervalMs + timeoutMs;
      return known === undefined || known.at < since || isOld ? undefined : known.value;
    },
    forget(rolloutUid) {
      for (const map of [answers, asking]) {
        for (const key of map.keys()) if (key.startsWith(`${rolloutUid}/`)) map.delete(key);
      }
    },
  };
}

async function request(gate: Gate, body: JsonObject, fetching: Fetch): Promise<ExternalNumber> {
  const signal = AbortSignal.timeout(timeoutMs);
  if (gate.type === "Prometheus") {
    const url = `${gate.url.replace(/(?<!\/)\/+$/, "")}/api/v1/query?query=${encodeURIComponent(gate.query)}`;
    return prometheusNumber(await read(await fetching(url, { signal, redirect: "error" })));
  }
  const headers = { "content-type": "application/json" };
  const response = await fetching(gate.url, {
    method: "POST",
    headers,
    body: printJson(body),
    signal,
    redirect: "error",
  });
  const answer = await read(response);
  if (!isJsonObject(answer) || typeof answer["passed"] !== "boolean") {
    return { unknown: `${gate.url}: the answer has no field "passed"` };
  }
  return {
    passed: answer["passed"],
    message: stringAt(answer, ["message"]).slice(0, maxShown) || "the webhook answered",
  };
}

async function read(response: Response): Promise<JsonValue> {
  if (!response.ok) throw new Error(`status ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop ends the transfer.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error("the answer is larger than 1 MiB");
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString("utf8")) as JsonValue;
}

/** One number, as a scalar or as a vector of one; anything else is unknown. */
function prometheusNumber(answer: JsonValue): ExternalNumber {
  const result = isJsonObject(answer) ? memberAt(answer, ["data", "result"]) : undefined;
  const type = isJsonObject(answer) ? memberAt(answer, ["data", "resultType"]) : undefined;
  if (!Array.isArray(result)) return { unknown: "the query has no result" };
  if (type === "scalar") return numberOf(result[1]);
  if (result.length !== 1) return { unknown: `the query has ${result.length} results, not 1` };
  const [only] = result;
  const pair = isJsonObject(only) ? only["value"] : undefined;
  return numberOf(Array.isArray(pair) ? pair[1] : undefined);
}

/** A server may answer with a megabyte, or lists in lists: the text goes into the status. */
function shownOf(value: JsonValue | undefined): string {
  return typeof value === "object" ? "a list or an object" : String(value).slice(0, maxShown);
}

function numberOf(value: JsonValue | undefined): ExternalNumber {
  const number = typeof value === "string" || typeof value === "number" ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? { value: number } : { unknown: `the result is not a number: ${shownOf(value)}` };
}
