// SPDX-License-Identifier: Apache-2.0
import { Turns } from "@purlin/base";
import { badRequest, expired } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { keyPrefix, oneKey } from "../registry/resource-type.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import type { Entry } from "../store/store.ts";
import { isStoreError } from "../store/store-error.ts";
import { type ContinueToken, continueExpired, decodeContinue, encodeContinue } from "./continue-token.ts";
import { convertedEntries } from "./converted-entries.ts";
import {
  badVersionText,
  isSelected,
  parseResourceVersion,
  readSelection,
  readVersionOptions,
  type Selection,
  type VersionOptions,
  waitForRevision,
} from "./list-options.ts";
import { type ListContent, type ListMetadata, listPayload } from "./list-payload.ts";
import { negotiateForm } from "./object-response.ts";
import type { RestRequest } from "./rest-context.ts";

/** Answers with the objects of a type, in the state and portion asked for. */
export async function listObjects(rest: RestRequest): Promise<CompleteResponse> {
  const form = negotiateForm(rest.request, rest.type);
  const { query } = rest.request;
  const options = readVersionOptions(query, false);
  const selection = readSelection(query, rest.strategy.view);
  const plan = await planList(rest, options);
  const found = await collect(rest, plan, selection);
  return { kind: "complete", code: 200, payload: listPayload(rest, found, form) };
}

/** The newest state of what a request selects, at most `limit` objects (0: all of them). */
export function selectNewest(rest: RestRequest, selection: Selection, limit: number): Promise<ListContent> {
  return collect(rest, { revision: undefined, after: undefined, limit, token: undefined }, selection);
}

interface ListPlan {
  /** The state to list; undefined: the newest. */
  readonly revision: number | undefined;
  readonly after: string | undefined;
  /** 0: no limit. */
  readonly limit: number;
  readonly token: ContinueToken | undefined;
}

async function planList({ store, request }: RestRequest, options: VersionOptions): Promise<ListPlan> {
  const revision = parseResourceVersion(options.resourceVersion);
  if (revision === undefined) throw badRequest(`invalid resource version: ${badVersionText(options.resourceVersion)}`);
  if (options.continueToken !== "") {
    if (revision > 0) throw badRequest("specifying resource version is not allowed when using continue");
    const token = decodeContinue(options.continueToken);
    // A token of another server, or of one whose data was set back.
    await waitForRevision(store, token.revision, request.signal);
    return {
      revision: token.revision > 0 ? token.revision : undefined,
      after: token.after,
      limit: options.resourceVersion === "0" ? 0 : options.limit,
      token,
    };
  }
  await waitForRevision(store, revision, request.signal);
  const isExact = options.match === "Exact" || (options.match === "" && options.limit > 0 && revision > 0);
  // Any state will do for 0, and then the whole of it is given.
  const limit = options.resourceVersion === "0" ? 0 : options.limit;
  return { revision: isExact ? revision : undefined, after: undefined, limit, token: undefined };
}

async function collect(rest: RestRequest, plan: ListPlan, selection: Selection): Promise<ListContent> {
  try {
    return await scan(rest, plan, selection);
  } catch (error) {
    if (!isStoreError(error, "expired")) throw error;
    if (plan.token !== undefined) throw continueExpired(plan.token.after);
    throw expired("The resourceVersion for the provided list is too old.");
  }
}

/** How many objects are read from the store at once. */
const portionSize = 1000;

async function scan(rest: RestRequest, plan: ListPlan, selection: Selection): Promise<ListContent> {
  const { store, strategy, target, type } = rest;
  const prefix = keyPrefix(type, target.namespace);
  const limit = plan.limit > 0 ? plan.limit : Number.POSITIVE_INFINITY;
  const revision = plan.revision ?? store.revision;
  const filter = selection.isEverything
    ? undefined
    : (entry: Entry<JsonObject>): boolean =>
        isSelected(strategy.storage.toServed(entry.value), selection, strategy.view);
  const key = oneKey(type, target);
  if (key !== undefined && plan.revision === undefined) {
    const entry = store.get(key);
    const found = entry === undefined ? [] : await convertedEntries(strategy, [entry]);
    const entries = filter === undefined ? found : found.filter(filter);
    return { entries, metadata: { revision, continueToken: "", remaining: undefined } };
  }
  if (filter === undefined) {
    const after = plan.after === undefined ? undefined : `${prefix}${plan.after}`;
    const page = store.list({ prefix, revision, after, limit });
    return {
      entries: await convertedEntries(strategy, page.entries),
      metadata: metadataOf(prefix, { entries: page.entries, revision, remaining: page.remaining }),
    };
  }
  return scanFiltered({ ...rest, prefix, revision, limit, filter, after: plan.after });
}

interface FilteredScan extends RestRequest {
  readonly prefix: string;
  readonly revision: number;
  readonly limit: number;
  readonly filter: (entry: Entry<JsonObject>) => boolean;
  readonly after: string | undefined;
}

/** Looking into objects takes time, so it is done in portions; the state stays the same throughout. */
async function scanFiltered({
  store,
  strategy,
  prefix,
  revision,
  limit,
  filter,
  after,
}: FilteredScan): Promise<ListContent> {
  const entries: Entry<JsonObject>[] = [];
  let last = after === undefined ? undefined : `${prefix}${after}`;
  const turns = new Turns();
  for (;;) {
    const page = store.list({ prefix, revision, after: last, limit: portionSize });
    for (const entry of await convertedEntries(strategy, page.entries)) {
      last = entry.key;
      if (filter(entry)) entries.push(entry);
      if (turns.isOver) await turns.next();
      if (entries.length >= limit) {
        const rest = store.list({ prefix, revision, after: last, limit: 0 }).remaining;
        return {
          entries,
          metadata: { ...metadataOf(prefix, { entries, revision, remaining: rest }), remaining: undefined },
        };
      }
    }
    if (page.remaining === 0) return { entries, metadata: { revision, continueToken: "", remaining: undefined } };
    await turns.next();
  }
}

function metadataOf(
  prefix: string,
  {
    entries,
    revision,
    remaining,
  }: { readonly entries: readonly Entry<JsonObject>[]; readonly revision: number; readonly remaining: number },
): ListMetadata {
  const last = entries.at(-1);
  if (remaining === 0 || last === undefined) return { revision, continueToken: "", remaining: undefined };
  return { revision, continueToken: encodeContinue({ revision, after: last.key.slice(prefix.length) }), remaining };
}
