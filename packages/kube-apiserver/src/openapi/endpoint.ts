// SPDX-License-Identifier: Apache-2.0
import { type Flow, inFlow, inTurns, type Work } from "@purlin/base";
import { isJsonObject, type JsonObject, printJson } from "@purlin/kube-objects/json";
import type { RemoteVersion } from "../aggregator/remote-documents.ts";
import { type ApiRequest, type CompleteResponse, type Payload, textPayload } from "../request/api-request.ts";
import { parseAccept } from "../request/negotiate.ts";
import { unescaped } from "../request/request-target.ts";
import { type PublishedDocument, type PublishedDocuments, sameItems } from "./published-documents.ts";
import { PublishedV2Document, publishV2, type V2Document } from "./v2-document.ts";

const v3 = "/openapi/v3";
const v2 = "/openapi/v2";
const yearMs = 365 * 24 * 60 * 60 * 1000;
const jsonType = "application/json";
const swaggerType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/** The second one is how older clients spell it. */
const swaggerTypes = [swaggerType, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"];

/** Answers `/openapi/v2`, `/openapi/v3` and the documents below it; undefined for other paths. */
export function createOpenApiEndpoint(
  documents: PublishedDocuments,
  now: () => number,
  remotes: () => readonly RemoteVersion[] = () => [],
): (request: ApiRequest) => Promise<CompleteResponse> | undefined {
  const all = whenChanged(documents, () => inTurns(documents.all()));
  const swagger = new PublishedV2Document();
  const merged = new MergedV2Document();
  const ownV2 = whenChanged(documents, async () => inTurns(swagger.document([...(await all()).values()])));
  return (request) => {
    if (request.path === v2) {
      return swaggerAnswer(request, async () => inTurns(merged.document(await ownV2(), remotes())));
    }
    if (request.path === v3) return all().then((served) => index(served, remotes()));
    if (!request.path.startsWith(`${v3}/`)) return undefined;
    return all().then((served) => document(request, served, now));
  };
}

type Documents = ReadonlyMap<string, PublishedDocument>;

/** All users wait for the same work: it does not wait for other requests of the user whose request came first. */
const shared: Flow = { level: "system", name: "openapi" };

/** Does the work again when other kinds are served than the last time. Requests that come meanwhile wait for the same work. */
function whenChanged<T>(documents: PublishedDocuments, work: () => Promise<T>): () => Promise<T> {
  let last: { readonly catalog: unknown; readonly done: Promise<T> } | undefined;
  return () => {
    const { catalog } = documents;
    if (last?.catalog !== catalog) last = { catalog, done: inFlow(shared, work) };
    return last.done;
  };
}

/** The index names each document with the hash of its content, so that a client fetches only what has changed. */
function index(documents: Documents, remotes: readonly RemoteVersion[]): CompleteResponse {
  const others = remotes.flatMap(({ remote, documents: { v3Address } }) =>
    v3Address === undefined
      ? []
      : [[`apis/${remote.group}/${remote.version}`, { serverRelativeURL: v3Address }] as const],
  );
  const entries = [...documents].map(
    ([key, { hash }]) => [key, { serverRelativeURL: `${v3}/${key}?hash=${hash}` }] as const,
  );
  const value: JsonObject = { paths: Object.fromEntries([...entries, ...others]) };
  // The reference does not say that it is JSON, whatever was asked for.
  return { kind: "complete", code: 200, payload: { ...textPayload(printJson(value)), value: () => value } };
}

function document(request: ApiRequest, documents: Documents, now: () => number): CompleteResponse {
  const key = unescaped(request.path.slice(v3.length + 1));
  const found = documents.get(key);
  if (found === undefined) return emptyNotFound;
  if (accepted(request, [jsonType]) === undefined) return { ...emptyNotAcceptable, headers: { vary: "Accept" } };
  const { hash, value, bytes } = found;
  const asked = request.query.get("hash");
  if (asked !== null && asked !== hash) return movedTo(`${v3}/${key}?hash=${hash}`);
  const expires = new Date(now() + yearMs).toUTCString();
  const forever: Record<string, string> = asked === null ? {} : { "cache-control": "public, immutable", expires };
  const headers = { etag: `"${hash}"`, vary: "Accept", ...forever };
  if (isKnown(request, headers)) return { kind: "complete", code: 304, headers };
  return { kind: "complete", code: 200, headers, payload: payloadOf(jsonType, value, bytes) };
}

async function swaggerAnswer(request: ApiRequest, made: () => Promise<V2Document>): Promise<CompleteResponse> {
  const type = accepted(request, [jsonType, ...swaggerTypes]);
  if (type === undefined) return { ...emptyNotAcceptable, headers: swaggerVary };
  const { value, json, protobuf, hash } = await made();
  const headers = { etag: `"${hash}"`, ...swaggerVary };
  if (isKnown(request, headers)) return { kind: "complete", code: 304, headers };
  const payload =
    type === jsonType ? payloadOf(jsonType, value, json) : payloadOf(swaggerType, value, await protobuf());
  return { kind: "complete", code: 200, headers, payload };
}

/** Whether the client has the document already. */
function isKnown(request: ApiRequest, { etag }: { readonly etag: string }): boolean {
  return request.headers["if-none-match"] === etag;
}

/** The first type, in the client's order of preference, that there is. */
function accepted({ headers }: ApiRequest, types: readonly string[]): string | undefined {
  const accept = headers["accept"] ?? "";
  const clauses = accept.trim() === "" ? [{ type: "*", subtype: "*" }] : parseAccept(accept);
  for (const { type, subtype } of clauses) {
    const found = types.find((one) => one === `${type}/${subtype}` || fits(one, type, subtype));
    if (found !== undefined) return found;
  }
  return undefined;
}

function fits(candidate: string, type: string, subtype: string): boolean {
  return subtype === "*" && (type === "*" || candidate.startsWith(`${type}/`));
}

function payloadOf(contentType: string, value: JsonObject, bytes: Uint8Array): Payload {
  return { contentType, chunks: () => [bytes], value: () => value };
}

function movedTo(location: string): CompleteResponse {
  const empty = { contentType: jsonType, chunks: () => [], value: () => null };
  return { kind: "complete", code: 301, headers: { location }, payload: empty };
}

const swaggerVary = { vary: "Accept-Encoding, Accept" };
const emptyNotFound: CompleteResponse = { kind: "complete", code: 404 };
const emptyNotAcceptable: CompleteResponse = { kind: "complete", code: 406 };

/** Adds the OpenAPI v2 documents of other servers to the own one. Made again only when one of them changes. */
class MergedV2Document {
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
