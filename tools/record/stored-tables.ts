// SPDX-License-Identifier: Apache-2.0
// Objects of every built-in kind as rows of the tables that kubectl prints.
import type { JsonObject, JsonValue } from "../../packages/kube-objects/src/json/index.ts";
import { prettyList } from "./formats.ts";
import type { Entry, Recording } from "./recording.ts";
import type { ServerClient } from "./server-client.ts";
import { remove, stable, unassigned } from "./stored-objects.ts";

interface Table {
  readonly apiVersion: string;
  readonly kind: string;
  readonly columns: readonly JsonObject[];
  readonly rows: readonly { readonly cells: readonly JsonValue[]; readonly object: JsonObject }[];
}

const asTable = { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" };
/** Columns whose cells depend on when the object was made, or when the table was asked for. */
const times = new Set(["Age", "Last Seen", "First Seen", "Created At"]);

/** A row of an IPAddress has its age in a cell without a column. */
const isTime = (column: JsonObject | undefined): boolean => column === undefined || times.has(String(column["name"]));

function comparable(entry: Entry): unknown {
  const { columns, rows } = entry as unknown as Table;
  const masked = rows.map(({ cells, object }) => ({
    cells: stable(cells.map((cell, index) => (isTime(columns[index]) ? "<time>" : cell))),
    object: withoutServerPort(stable(object) as JsonObject),
  }));
  return { ...entry, rows: masked };
}

/** The Service of the API server leads to the port that the server happens to have. */
function withoutServerPort(object: JsonObject): JsonObject {
  const { name } = object["metadata"] as JsonObject;
  if (object["kind"] !== "Service" || name !== "kubernetes") return object;
  const spec = object["spec"] as JsonObject;
  const ports = (spec["ports"] as JsonObject[]).map(({ targetPort: _port, ...port }) => port);
  return { ...object, spec: { ...spec, ports } };
}

const objectsOf = (entry: Entry): JsonObject[] => (entry as unknown as Table).rows.map(({ object }) => object);

async function pathOf(client: ServerClient, object: JsonObject): Promise<string> {
  return `${await client.collection(object)}/${String((object["metadata"] as JsonObject)["name"])}`;
}

/** Creates the objects that are not there, and answers with their paths. */
async function createMissing(client: ServerClient, objects: readonly JsonObject[]): Promise<string[]> {
  const created: string[] = [];
  for (const object of objects) {
    const path = await pathOf(client, object);
    if ((await client.send(path)).code === 200) continue;
    await client.create(await client.collection(object), unassigned(object));
    created.push(path);
  }
  return created;
}

/** An object as it is recorded, without its managers. */
function withoutManagers(object: JsonObject): JsonObject {
  const { managedFields: _managers, ...metadata } = object["metadata"] as JsonObject;
  return { ...object, metadata };
}

async function tableOf(client: ServerClient, entry: Entry): Promise<Entry> {
  const { apiVersion, kind } = entry as unknown as Table;
  const rows: JsonObject[] = [];
  let columns: JsonObject[] = [];
  for (const object of objectsOf(entry)) {
    const table = await client.json(`${await pathOf(client, object)}?includeObject=Object`, { headers: asTable });
    columns = (table["columnDefinitions"] as JsonObject[]).map((column) => ({ ...column, description: "" }));
    const [row] = table["rows"] as JsonObject[];
    rows.push({ cells: row?.["cells"] ?? [], object: withoutManagers(row?.["object"] as JsonObject) });
  }
  return { apiVersion, kind, columns, rows };
}

const storedTables: Recording = {
  subject: "tables",
  file: "packages/kube-builtin/src/columns/testdata/real-server.json",
  ...prettyList,
  // An Event of events.k8s.io is that of v1, which comes before it.
  isSequence: true,
  comparable,
  answer: async (entries, peers) => {
    const client = await peers.server();
    await client.until("/api/v1/namespaces/default/serviceaccounts/default");
    const created = await createMissing(client, entries.flatMap(objectsOf));
    const all: Entry[] = [];
    for (const entry of entries) all.push(await tableOf(client, entry));
    for (const path of created.toReversed()) await remove(client, path);
    return all;
  },
};

export const storedTableRecordings: readonly Recording[] = [storedTables];
