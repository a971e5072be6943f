// SPDX-License-Identifier: Apache-2.0

import type { JsonValue } from "@purlin/kube-objects/json";
import type { RunStore } from "./open-run-store.ts";
import type { RunFilter } from "./run-reader.ts";

/** Where a control plane serves its runs: this path lists them, and one of them is below it. */
export const runsPath = "/purlin/v1/runs";

/** Why a replica that does not lead gives no runs: only the leader reconciles, so only its records are those of the control plane. */
export const recorderWaits = "this replica does not lead: another one records runs";

/** The list of runs, or one run with its objects, by path; undefined for any other path and for an unknown run. */
export function runsDocument(
  store: Pick<RunStore, "reader" | "flush" | "stats">,
  path: string,
  query: URLSearchParams,
): JsonValue | undefined {
  if (path !== runsPath && !path.startsWith(`${runsPath}/`)) return undefined;
  store.flush();
  if (path === runsPath) {
    const { dropped, problem = null } = store.stats;
    return { items: store.reader.list(filterOf(query)), dropped, problem } as unknown as JsonValue;
  }
  return store.reader.get(path.slice(runsPath.length + 1)) as unknown as JsonValue | undefined;
}

const texts = ["kind", "group", "namespace", "name", "step", "after"] as const;

/** The query that asks for the runs of a filter. */
export function queryOf(filter: RunFilter): Readonly<Record<string, string>> {
  const { failed, sinceMs, limit } = filter;
  const query: Record<string, string> = {};
  for (const name of texts) {
    const value = filter[name];
    if (value !== undefined) query[name] = value;
  }
  if (failed === true) query["failed"] = "true";
  if (sinceMs !== undefined) query["since"] = String(sinceMs);
  if (limit !== undefined) query["limit"] = String(limit);
  return query;
}

function filterOf(query: URLSearchParams): RunFilter {
  const number = (name: string): number | undefined => {
    const value = Number(query.get(name) ?? Number.NaN);
    return Number.isFinite(value) ? value : undefined;
  };
  return {
    ...Object.fromEntries(texts.map((name) => [name, query.get(name) ?? undefined])),
    failed: query.get("failed") === "true",
    sinceMs: number("since"),
    limit: number("limit"),
  };
}
