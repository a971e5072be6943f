// SPDX-License-Identifier: Apache-2.0
import { Turns } from "@purlin/base";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { isBlankDocument, isBounded, kubectlSchema, splitDocuments } from "@purlin/kube-objects/yaml";
import { load, YAMLException } from "js-yaml";
import { PackageError } from "./package-error.ts";

/** One object of a package and the line of the stream on which its document begins. */
export interface PackageDocument {
  readonly object: JsonObject;
  readonly line: number;
}

/** What errors call a line of the stream, and the stream itself where no line is meant. */
export type StreamPlace = (line?: number) => string;

/** The stream of a package is not read beyond this. */
export const maxPackageBytes: number = 200 * 1024 * 1024;
const maxDocumentLength = 8 * 1024 * 1024;
const maxDepth = 1_000;
/** Reasons can repeat what the document says. */
const maxReasonLength = 200;
/** Aliases may repeat parts of a document, as long as it stands for little more than documents may have. */
const expansion = { size: 2 * maxDocumentLength, depth: maxDepth + 1 };

/**
 * Reads the documents of `package.yaml` one by one, and lets other work run in between: a package of a provider has hundreds of CRDs.
 * Documents of blanks and comments are skipped.
 */
export async function parsePackageStream(text: string, place: StreamPlace): Promise<PackageDocument[]> {
  const documents: PackageDocument[] = [];
  const turns = new Turns();
  for (const { body, line } of splitDocuments(text)) {
    if (isBlankDocument(body)) continue;
    if (body.length > maxDocumentLength) throw new PackageError(`${place(line)}: the document is larger than 8 MiB`);
    documents.push({ object: parseDocument(body, line, place), line });
    if (turns.isOver) await turns.next();
  }
  return documents;
}

function parseDocument(body: string, line: number, place: StreamPlace): JsonObject {
  let value: unknown;
  try {
    value = load(body, { schema: kubectlSchema, maxDepth });
  } catch (error) {
    const { reason = String(error), mark } = error instanceof YAMLException ? error : {};
    const where = place(line + (mark?.line ?? 0));
    throw new PackageError(`${where}: invalid YAML: ${reason.slice(0, maxReasonLength)}`, { cause: error });
  }
  if (!isJsonObject(value)) throw new PackageError(`${place(line)}: expected an object with apiVersion and kind`);
  if (!isBounded(value, expansion)) {
    throw new PackageError(`${place(line)}: its aliases stand for more than 16 MiB, or for themselves`);
  }
  return value;
}
