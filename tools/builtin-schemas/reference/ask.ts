// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "../../../packages/kube-objects/src/json/index.ts";
import { Peers } from "../../record/peers.ts";

/** A question to the reference: a value with its schema, or a CustomResourceDefinition. */
export type Question = { readonly schema: JsonValue; readonly value: JsonValue } | { readonly crd: JsonValue };

/** What the reference answers. */
export interface Answer {
  readonly errors: readonly { readonly type: string; readonly field: string; readonly body: string }[] | null;
  readonly unknown: readonly string[] | null;
  readonly documents?: Readonly<Record<string, Readonly<Record<string, JsonValue>>>>;
}

/** Asks Kubernetes' own libraries. Needs the peer kubernetes-answers. */
export function askReference(subject: "schema-checks" | "crd-documents", questions: readonly Question[]): Answer[] {
  return new Peers().askLibraries(subject, questions as unknown as JsonValue[]) as unknown as Answer[];
}
