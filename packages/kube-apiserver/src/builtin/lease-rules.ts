// SPDX-License-Identifier: Apache-2.0
import { invalidValue } from "@purlin/kube-objects";
import type { KindRules } from "./kind-rules.ts";
import { notNegative } from "./pods/checks.ts";
import { objectAt, valueAt } from "./read-field.ts";

export const leaseRules: KindRules = {
  validate: (lease) => {
    const spec = objectAt(lease, "spec");
    const seconds = valueAt(spec, "leaseDurationSeconds");
    const isOver = typeof seconds === "number" && seconds <= 0;
    return [
      ...(isOver ? [invalidValue("spec.leaseDurationSeconds", seconds, "must be greater than 0")] : []),
      ...notNegative("leaseTransitions")(spec, "spec"),
    ];
  },
};
