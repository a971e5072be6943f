// SPDX-License-Identifier: Apache-2.0

import { posix } from "node:path";
import { Turns } from "@purlin/base";
import { badRequest, expired, type StatusError } from "@purlin/kube-objects/errors";
import {
  goQuote,
  isJsonObject,
  type JsonObject,
  type JsonReading,
  JsonSyntaxError,
  type JsonValue,
  jsonKind,
  parseJsonStrict,
} from "@purlin/kube-objects/json";
import { keyPrefix, oneKey } from "../registry/registry.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import type { Entry } from "../store/store.ts";
import { isStoreError } from "../store/store-error.ts";
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
import { convertedEntries } from "./object-codec.ts";
import { type ListContent, type ListMetadata, listPayload, negotiateForm } from "./object-response.ts";
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

/** Where a list continues. */
interface ContinueToken {
  /** The state it began with; -1: whatever the state is now. */
  readonly revision: number;
  /** The last key that was given, without the prefix of the list. */
  readonly after: string;
}

const version = "meta.k8s.io/v1";
/** Follows the last key given: the next one is the first behind it. */
const end = "\u0000";

/** A token as clients carry it. */
export function encodeContinue({ revision, after }: ContinueToken): string {
  const json = JSON.stringify({ v: version, rv: revision, start: `/${after}${end}` });
  return Buffer.from(json).toString("base64url");
}

/** Reads a token. Throws 400 in the reference's words for one that was not made here. */
export function decodeContinue(token: string): ContinueToken {
  const { v = "", rv = 0, start = "" } = parse(token);
  if (v !== version) throw refused(`: server does not recognize this encoded version ${v}`);
  if (rv === 0) throw refused(`: incorrect encoded start resourceVersion (version ${version})`);
  if (start === "") throw refused(`: encoded start key empty (version ${version})`);
  // A key that climbs out of the list would show what the list must not.
  const rooted = start.startsWith("/") ? start : `/${start}`;
  if (posix.normalize(rooted) !== rooted) throw refused(`: ${start}`);
  return { revision: rv, after: rooted.endsWith(end) ? rooted.slice(1, -1) : rooted.slice(1) };
}

const refused = (why: string): StatusError => badRequest(`invalid continue token: continue key is not valid${why}`);

interface TokenFields {
  readonly v?: string;
  readonly rv?: number;
  readonly start?: string;
}

function parse(token: string): TokenFields {
  const bad = token.search(/[^A-Za-z0-9_-]/);
  if (bad !== -1 || token.length % 4 === 1) {
    throw refused(`: illegal base64 data at input byte ${bad === -1 ? token.length - 1 : bad}`);
  }
  const bytes = Buffer.from(token, "base64url");
  const [first = 0] = bytes;
  if (first > 0x7f) {
    // Go looks at bytes, and shows one as the character of that number.
    throw refused(
      `: invalid character '${goQuote(String.fromCharCode(first)).slice(1, -1)}' looking for beginning of value`,
    );
  }
  try {
    return fieldsOf(parseJsonStrict(bytes.toString()));
  } catch (error) {
    throw error instanceof JsonSyntaxError ? refused(`: ${error.message}`) : error;
  }
}

/** The fields of a token, each of its type. What is null is not there. */
function fieldsOf({ value, fractions }: JsonReading): TokenFields {
  if (value !== null && !isJsonObject(value)) {
    throw refused(`: json: cannot unmarshal ${jsonKind(value)} into Go value of type storage.continueToken`);
  }
  const members = Object.entries(value ?? {}).filter(([, member]) => member !== null);
  for (const [name, member] of members) {
    const written = fractions?.get(name);
    if (name === "rv" && (written !== undefined || !isInt64(member))) {
      throw misfit(name, typeof member === "number" ? `number ${written ?? BigInt(member)}` : jsonKind(member));
    }
    if ((name === "v" || name === "start") && typeof member !== "string") throw misfit(name, jsonKind(member));
  }
  const { rv = 0, ...texts } = Object.fromEntries(members);
  return { ...(texts as TokenFields), rv: Number(rv) };
}

const isInt64 = (value: JsonValue): boolean => typeof value === "bigint" || Number.isSafeInteger(value);

function misfit(name: string, what: string): StatusError {
  const type = name === "rv" ? "int64" : "string";
  return refused(`: json: cannot unmarshal ${what} into Go struct field continueToken.${name} of type ${type}`);
}

/** 410 for a list that took too long, with a token to continue without the promise of one state. */
export function continueExpired(after: string): StatusError {
  const message =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue " +
    "parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided " +
    "token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was " +
    "returned and now may show up in the list.";
  return expired(message, encodeContinue({ revision: -1, after }));
}
