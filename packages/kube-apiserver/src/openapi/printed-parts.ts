// SPDX-License-Identifier: Apache-2.0
// Documents about all kinds are made again when one kind changes. Their parts are printed once, and joined in turns: with a thousand kinds,
// that is the difference between a pause of the server and none.
import { createHash } from "node:crypto";
import { memoize, type Work } from "@purlin/base";
import { isJsonObject, type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";

/** Text that is encoded and hashed at once. */
const pieceCharacters = 256 * 1024;

// Not JSON.stringify: a schema may have integers beyond 2^53.
const printed = memoize((value: JsonObject): string => printJson(value));

const printPart = (part: JsonValue): string => (isJsonObject(part) ? printed(part) : printJson(part));

/** A document as it is sent. */
export interface PrintedDocument {
  readonly bytes: Uint8Array;
  /** SHA-512 of the bytes, in upper case: changes when and only when the document does. */
  readonly hash: string;
}

/** Prints a document. The members of each object in `containers`, such as its paths and its components, are parts. */
export function* printDocument(document: JsonObject, containers: readonly JsonObject[]): Work<PrintedDocument> {
  const hash = createHash("sha512");
  const pieces: Buffer[] = [];
  let text = "";
  const flush = (): void => {
    const piece = Buffer.from(text);
    hash.update(piece);
    pieces.push(piece);
    text = "";
  };
  for (const next of textsOf(document, containers)) {
    text += next;
    if (text.length < pieceCharacters) continue;
    flush();
    yield;
  }
  flush();
  return { bytes: Buffer.concat(pieces), hash: hash.digest("hex").toUpperCase() };
}

function* textsOf(value: JsonValue, containers: readonly JsonObject[]): Generator<string> {
  if (!isJsonObject(value)) return yield printJson(value);
  const hasParts = containers.includes(value);
  let separator = "{";
  for (const [name, member] of Object.entries(value)) {
    yield `${separator}${JSON.stringify(name)}:`;
    if (hasParts) yield printPart(member);
    else yield* textsOf(member, containers);
    separator = ",";
  }
  yield separator === "{" ? "{}" : "}";
}
