// SPDX-License-Identifier: Apache-2.0

/** A column of `kubectl get`. */
export type Column = {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  /** Above 0: shown with `-o wide` only. */
  readonly priority?: number;
};

/** A column that shows a field. */
export function column(name: string, jsonPath: string, type: Column["type"] = "string"): Column {
  return { name, type, jsonPath };
}

/** A column that is shown with `-o wide` only. */
export function wideColumn(name: string, jsonPath: string): Column {
  return { ...column(name, jsonPath), priority: 1 };
}

/** A column that shows the status of a condition. */
export function conditionColumn(name: string, condition: string): Column {
  return column(name, `.status.conditions[?(@.type=='${condition}')].status`);
}

/** How old the object is. */
export const ageColumn: Column = column("AGE", ".metadata.creationTimestamp", "date");
