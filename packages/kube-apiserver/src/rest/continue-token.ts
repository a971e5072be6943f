// SPDX-License-Identifier: Apache-2.0
import { posix } from "node:path";
import { badRequest, expired, type StatusError } from "@purlin/kube-objects/errors";
import {
  goQuote,
  isJsonObject,
  type JsonReading,
  JsonSyntaxError,
  type JsonValue,
  jsonKind,
  parseJsonStrict,
} from "@purlin/kube-objects/json";

/** Where a list goes on. */
export interface ContinueToken {
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

/** 410 for a list that took too long, with a token to go on without the promise of one state. */
export function continueExpired(after: string): StatusError {
  const message =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue " +
    "parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided " +
    "token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was " +
    "returned and now may show up in the list.";
  return expired(message, encodeContinue({ revision: -1, after }));
}
