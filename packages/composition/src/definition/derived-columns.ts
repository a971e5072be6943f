// SPDX-License-Identifier: Apache-2.0
import { ageColumn, type Column, column, conditionColumn, wideColumn } from "@purlin/kube-controller";
import type { CompositeSchema } from "../composite-resource/machinery.ts";

const states = [conditionColumn("SYNCED", "Synced"), conditionColumn("READY", "Ready")] as const;

/** The columns every composite resource has behind its author's. */
export function compositeColumns(schema: CompositeSchema): readonly Column[] {
  const place = schema === "legacy" ? ".spec" : ".spec.crossplane";
  return [
    ...states,
    column("COMPOSITION", `${place}.compositionRef.name`),
    wideColumn("COMPOSITIONREVISION", `${place}.compositionRevisionRef.name`),
    ageColumn,
  ];
}

/** The columns every claim has behind its author's. */
export const claimColumns: readonly Column[] = [
  ...states,
  column("CONNECTION-SECRET", ".spec.writeConnectionSecretToRef.name"),
  ageColumn,
];
