// SPDX-License-Identifier: Apache-2.0
import { posix } from "node:path";
import {
  badRequest,
  expired,
  goQuote,
  isJsonObject,
  JsonSyntaxError,
  parseJson,
  type StatusError,
} from "@purlin/kube-objects";

/** Where a list goes on. */
export interface ContinueToken {
  /** The state it began with; -1: whatever the state is now. */
  readonly revision: number;
  /** The last key that was given, without the prefix of the list. */
  readonly after: string;
}

const VERSION = "meta.k8s.io/v1";
/** Follows the last key given: the next one is the first behind it. */
const END = "\u0000";

/** A token as clients carry it. */
export function encodeContinue({ revision, after }: ContinueToken): string {
  const json = JSON.stringify({ v: VERSION, rv: revision, start: `/${after}${END}` });
  return Buffer.from(json).toString("base64url");
}

/** Reads a token. Throws 400 in the reference's words for one that was not made here. */
export function decodeContinue(token: string): ContinueToken {
  const { v = "", rv = 0, start = "" } = parse(token);
  if (v !== VERSION) {
    throw refused(`: server does not recognize this encoded version ${String(v)}`);
  }
  if (typeof rv !== "number" || rv === 0) {
    throw refused(`: incorrect encoded start resourceVersion (version ${VERSION})`);
  }
  if (typeof start !== "string" || start === "") {
    throw refused(`: encoded start key empty (version ${VERSION})`);
  }
  // A key that climbs out of the list would show what the list must not.
  const rooted = start.startsWith("/") ? start : `/${start}`;
  if (posix.normalize(rooted) !== rooted) {
    throw refused(`: ${start}`);
  }
  return { revision: rv, after: rooted.endsWith(END) ? rooted.slice(1, -1) : rooted.slice(1) };
}

const refused = (why: string): StatusError => badRequest(`invalid continue token: continue key is not valid${why}`);

function parse(token: string): { readonly v?: unknown; readonly rv?: unknown; readonly start?: unknown } {
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
    const value = parseJson(bytes.toString());
    return isJsonObject(value) ? value : {};
  } catch (error) {
    throw error instanceof JsonSyntaxError ? refused(`: ${error.message}`) : error;
  }
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
