// SPDX-License-Identifier: Apache-2.0
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { ageColumn, ageOfObject, items, nameColumn, nameOfObject, text, wideColumn } from "../table/cell-values.ts";
import { column, type TablePrinter } from "../table/table.ts";

export const namespacePrinter: TablePrinter = {
  columns: [nameColumn, column("Status"), ageColumn],
  cells: (object, now) => [nameOfObject(object), text(object, "status", "phase"), ageOfObject(object, now)],
};

export const serviceAccountPrinter: TablePrinter = {
  columns: [nameColumn, ageColumn],
  cells: (object, now) => [nameOfObject(object), ageOfObject(object, now)],
};

export const apiServicePrinter: TablePrinter = {
  columns: [nameColumn, column("Service"), column("Available"), ageColumn],
  cells: (object, now) => [
    nameOfObject(object),
    // The server forwards no request to another server.
    "Local",
    text(items(object, "status", "conditions").find((one) => text(one, "type") === "Available") ?? {}, "status"),
    ageOfObject(object, now),
  ],
};

/** The printer of RoleBindings and ClusterRoleBindings. */
export const bindingPrinter: TablePrinter = {
  columns: [nameColumn, column("Role"), ageColumn, ...["Users", "Groups", "ServiceAccounts"].map(wideColumn)],
  cells: bindingCells,
};

function bindingCells(object: JsonObject, now: number): JsonValue[] {
  const subjects = items(object, "subjects");
  const of = (kind: string): JsonObject[] => subjects.filter((one) => text(one, "kind") === kind);
  const namesOf = (kind: string): string =>
    of(kind)
      .map((one) => text(one, "name"))
      .join(", ");
  const accounts = of("ServiceAccount").map((one) => `${text(one, "namespace")}/${text(one, "name")}`);
  return [
    nameOfObject(object),
    `${text(object, "roleRef", "kind")}/${text(object, "roleRef", "name")}`,
    ageOfObject(object, now),
    namesOf("User"),
    namesOf("Group"),
    accounts.join(", "),
  ];
}
