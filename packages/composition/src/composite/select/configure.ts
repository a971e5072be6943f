// SPDX-License-Identifier: Apache-2.0

import {
  conditionOf,
  conditionsOf,
  type KubeObject,
  labelOf,
  objectAt,
  type TypeRef,
  textAt,
  withMember,
} from "@purlin/kube-objects/object";
import { labels } from "../../composite-resource/constants.ts";
import { kindText } from "../../composite-resource/described.ts";
import { connectionSecretRefOf, withMachinery } from "../../composite-resource/machinery.ts";
import type { CompositeKind } from "../ports.ts";
import { steps } from "../steps.ts";
import { isFor } from "./select-composition.ts";
import { type Selection, selected } from "./selection.ts";

/** Throws unless the revision's pipeline was found to be valid. */
export function requireValidPipeline(revision: KubeObject): void {
  const { status, message } = conditionOf(conditionsOf(revision), "ValidPipeline");
  if (status === "True") return;
  const name = revision.metadata.name ?? "";
  const why = message || "pipeline status unknown";
  throw new Error(`selected CompositionRevision ${name} does not have a valid function pipeline: ${why}`);
}

/**
 * Prepares the XR for its revision: the label its tree shares, and for legacy XRs the place of its connection secret.
 * Throws when the revision is made for another kind.
 */
export function configure(before: Selection, revision: KubeObject, kind: CompositeKind): Selection {
  const named = withTreeLabel(before.xr);
  if (!isFor(revision, before.xr)) {
    throw new Error(
      `referenced composition is not compatible with this composite resource: ${mismatch(before.xr, revision)}`,
    );
  }
  return selected(before, steps.configure, withSecretRef(named, revision, kind));
}

function mismatch(xr: KubeObject, revision: KubeObject): string {
  const { apiVersion = "", kind = "" } = objectAt(revision, ["spec", "compositeTypeRef"]) as Partial<TypeRef>;
  const made = `CompositionRevision "${revision.metadata.name ?? ""}" is made for ${kindText({ apiVersion, kind })}`;
  return `${made}, not for ${kindText(xr)}: name another Composition in compositionRef`;
}

/** A nested XR keeps the label of its root, which it got when it was composed. */
function withTreeLabel(xr: KubeObject): KubeObject {
  if (labelOf(xr, labels.composite) !== undefined) return xr;
  return withMember(xr, ["metadata", "labels", labels.composite], xr.metadata.name ?? "");
}

function withSecretRef(xr: KubeObject, revision: KubeObject, { schema }: CompositeKind): KubeObject {
  const namespace = textAt(revision, ["spec", "writeConnectionSecretsToNamespace"]);
  if (schema !== "legacy" || namespace === undefined || connectionSecretRefOf(xr, schema) !== undefined) return xr;
  return withMachinery(xr, schema, { writeConnectionSecretToRef: { name: xr.metadata.uid ?? "", namespace } });
}
