// SPDX-License-Identifier: Apache-2.0

import { createHash } from "node:crypto";
import { type JsonObject, type JsonValue, jsonEqual, printJson, sortedKeys } from "@purlin/kube-objects/json";
import { type KubeObject, objectAt, withMember } from "@purlin/kube-objects/object";
import { labels } from "../composite-resource/constants.ts";

/** The content of a Composition that a revision copies: labels, annotations and spec. */
type CompositionContent = {
  readonly labels: JsonObject;
  readonly annotations: JsonObject;
  readonly spec: JsonObject;
};

const ownLabels: ReadonlySet<string> = new Set([labels.compositionName, labels.compositionHash]);

function withoutOwnLabels(object: KubeObject): JsonObject {
  const all = objectAt(object, ["metadata", "labels"]);
  return Object.fromEntries(Object.entries(all).filter(([key]) => !ownLabels.has(key)));
}

/** The content of a Composition. Labels that mark revisions are ours to set. */
export function contentOf(composition: KubeObject): CompositionContent {
  return {
    labels: withoutOwnLabels(composition),
    annotations: objectAt(composition, ["metadata", "annotations"]),
    spec: objectAt(composition, ["spec"]),
  };
}

/** The content a revision was made of. */
function contentOfRevision(revision: KubeObject): CompositionContent {
  return contentOf(withMember(revision, ["spec", "revision"], undefined));
}

/** The hash of a content. */
export function hashOf(content: CompositionContent): string {
  const text = printJson(sorted(content));
  return createHash("sha256").update(text).digest("hex");
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const object = value as JsonObject;
  return Object.fromEntries(sortedKeys(object).map((key) => [key, sorted(object[key] as JsonValue)]));
}

const labelLength = 63;

/** A hash, cut to the length of a label value. */
export function hashLabel(hash: string): string {
  return hash.slice(0, labelLength);
}

/**
 * Whether a revision has this content: by its hash, or field by field. The latter recognizes
 * revisions that another control plane made and hashed in its own way.
 */
export function isOfContent(revision: KubeObject, content: CompositionContent, hash: string): boolean {
  if (revision.metadata.labels?.[labels.compositionHash] === hashLabel(hash)) return true;
  return jsonEqual(contentOfRevision(revision), content);
}
