// SPDX-License-Identifier: Apache-2.0

import { kubectlSchema } from "@purlin/kube-objects/yaml";
import { constructFromEvents, EVENT_ID, type Event, parseEvents, YAMLException } from "js-yaml";
import { textOf, UserError } from "../user-error.ts";
import { findOffset, type PathSegment } from "./yaml-position.ts";

/** Far beyond what any resource or schema needs, and safe on the default stack. */
const maxDepth = 1_000;

/** One document of a YAML or JSON file, which remembers where each of its values stands. */
export interface YamlDocument {
  /** The file as the user named it. */
  readonly file: string;
  readonly value: unknown;
  /** `file:line:column` of the value that a path leads to, or of the last one on the way that exists. */
  at(path?: readonly PathSegment[]): string;
}

/** Reads all documents of a text. Empty ones are left out. Throws a UserError with the line of what is broken. */
export function parseYaml(text: string, file: string): YamlDocument[] {
  const events = orUserError(text, file, () => parseEvents(text, { maxDepth }));
  return splitDocuments(events).flatMap((own) => {
    const source = { source: text, schema: kubectlSchema };
    const [value] = orUserError(text, file, () => constructFromEvents(own, source));
    // The events of a document stand between that of the document itself and the one that closes it.
    const content = own.slice(1, -1);
    const at = (path: readonly PathSegment[] = []): string => place(text, file, findOffset(text, content, path));
    return value === undefined || value === null ? [] : [{ file, value, at }];
  });
}

function splitDocuments(events: readonly Event[]): Event[][] {
  const documents: Event[][] = [];
  for (const event of events) {
    if (event.type === EVENT_ID.DOCUMENT) documents.push([]);
    documents.at(-1)?.push(event);
  }
  return documents;
}

function orUserError<T>(text: string, file: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const mark = error instanceof YAMLException ? error.mark : undefined;
    const where = mark === undefined ? file : place(text, file, mark.position);
    const reason = error instanceof YAMLException ? error.reason : textOf(error);
    const format = file.endsWith(".json") ? "JSON" : "YAML";
    throw new UserError(`${where}: not valid ${format}: ${reason}: look at this line and the one before it`, {
      cause: error,
    });
  }
}

function place(text: string, file: string, offset: number): string {
  const before = text.slice(0, offset);
  const lines = before.split("\n");
  return `${file}:${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`;
}
