// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import type { RemoteVersion } from "../aggregator/merge-groups.ts";
import { sameItems } from "./published-documents.ts";
import { publishV2, type V2Document } from "./v2-document.ts";

/** Adds the OpenAPI v2 documents of other servers to the own one. Made again only when one of them changes. */
export class MergedV2Document {
  #made: { readonly from: readonly unknown[]; readonly document: V2Document } | undefined;

  *document(own: V2Document, remotes: readonly RemoteVersion[]): Work<V2Document> {
    const described = remotes.filter(({ documents }) => documents.v2 !== undefined);
    if (described.length === 0) return own;
    const from = [own, ...described.map(({ documents }) => documents.v2)];
    const known = this.#made;
    if (known !== undefined && sameItems(known.from, from)) return known.document;
    const document = yield* merge(own, described);
    this.#made = { from, document };
    return document;
  }
}

function* merge(own: V2Document, remotes: readonly RemoteVersion[]): Work<V2Document> {
  const paths = sorted({ ...Object.assign({}, ...remotes.map(pathsOf)), ...membersOf(own.value, "paths") });
  yield;
  const definitions = sorted({
    ...Object.assign({}, ...remotes.map(({ documents }) => membersOf(documents.v2, "definitions"))),
    // A server does not change what others define.
    ...membersOf(own.value, "definitions"),
  });
  yield;
  const merged = yield* publishV2({ ...own.value, paths, definitions });
  // A document that another server wrote may have any form. One that cannot be encoded is left out.
  return { ...merged, protobuf: () => merged.protobuf().catch(() => own.protobuf()) };
}

/** The paths of the group version: a server does not describe those of others. */
function pathsOf({ remote, documents }: RemoteVersion): JsonObject {
  const prefix = `/apis/${remote.group}/${remote.version}/`;
  return Object.fromEntries(
    Object.entries(membersOf(documents.v2, "paths")).filter(([path]) => path.startsWith(prefix)),
  );
}

function membersOf(document: JsonObject | undefined, name: string): JsonObject {
  const members = document?.[name];
  if (!isJsonObject(members)) return {};
  return Object.fromEntries(Object.entries(members).filter(([, value]) => isJsonObject(value)));
}

function sorted(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}
