// SPDX-License-Identifier: Apache-2.0
import { findSchema, inlineReferences } from "@purlin/kube-objects/openapi";
import { type Case, scenario } from "../harness/case.ts";
import { deployment, ownGroup, withOwnWidgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import { isServed, servedVersions } from "../harness/served-kinds.ts";
import type { Session } from "../harness/session.ts";

const keyOf = (version: string): string => (version.includes("/") ? `apis/${version}` : `api/${version}`);

/** Without the words, which those of built-in schemas are not served with, and without answers in protobuf, which are not given. */
function withoutWords(value: Loose, isTheirs: (text: string) => boolean = () => true): Loose {
  if (Array.isArray(value))
    return value.filter((item) => !isProtobuf(item)).map((item) => withoutWords(item, isTheirs));
  if (typeof value !== "object" || value === null) return value;
  const isWord = (key: string, member: Loose): boolean =>
    key === "description" && typeof member === "string" && isTheirs(member);
  const kept = Object.entries(value).filter(([key, member]) => !isWord(key, member) && !isProtobuf(key));
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutWords(member, isTheirs)]));
}

const isProtobuf = (text: unknown): boolean => String(text).startsWith("application/vnd.kubernetes.protobuf");

/** What the author of a CRD wrote stays; what the reference adds to it goes. */
const withOwnWords = (value: Loose): Loose =>
  withoutWords(value, (text) => /More info: https:\/\/git\.k8s\.io\/|^\w+List is a list of \w+$/.test(text));

/** The parameters of the old document stand in the places that refer to them. */
function withParameters(value: Loose, parameters: Loose): Loose {
  if (Array.isArray(value)) return value.map((item) => withParameters(item, parameters));
  if (typeof value !== "object" || value === null) return value;
  const [, name] = /^#\/parameters\/(.*)$/.exec(value.$ref ?? "") ?? [];
  if (name !== undefined) return parameters[name];
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withParameters(member, parameters)]));
}

/** The paths of a document that belong to resources the embedded server has. */
function servedPaths(version: string, paths: Loose): Loose {
  const served = Object.entries(paths).filter(([path]) => {
    if (!path.startsWith(`/${keyOf(version)}/`)) return false;
    const rest = path
      .replace(`/${keyOf(version)}/`, "")
      .replace(/^namespaces\/\{namespace\}\/(?=[a-z])(?!status|finalize)/, "");
    const [plural = "", , sub] = rest.split("/");
    return !path.includes("/watch/") && isServed(version, sub === undefined ? plural : `${plural}/${sub}`);
  });
  return Object.fromEntries(served);
}

/** The schemas a document needs for its paths. */
function reachable(paths: Loose, schemas: Loose): Loose {
  const found = new Set<string>();
  const visit = (value: Loose): void => {
    for (const [, name = ""] of JSON.stringify(value).matchAll(/"#\/(?:components\/schemas|definitions)\/([^"]+)"/g)) {
      if (found.has(name)) continue;
      found.add(name);
      visit(schemas[name] ?? {});
    }
  };
  visit(paths);
  return Object.fromEntries([...found].sort().map((name) => [name, schemas[name]]));
}

/** Options belong to every group-version there is, also to those that are not served. */
function ofServedKinds(schema: Loose): Loose {
  const key = "x-kubernetes-group-version-kind";
  const kinds: Loose[] = schema[key] ?? [];
  const isOfServed = ({ group, version }: Loose): boolean =>
    servedVersions.includes(group === "" ? version : `${group}/${version}`);
  return kinds.length > 1 ? { ...schema, [key]: kinds.filter(isOfServed) } : schema;
}

async function documentOf(s: Session, key: string): Promise<Loose> {
  return (await s.get(`/openapi/v3/${key}`, { quiet: true })).body;
}

export const openApiCases: readonly Case[] = [
  scenario("the index and the documents it names", async (s) => {
    await withOwnWidgets(s);
    const key = `apis/${ownGroup(s)}/v1`;
    await s.until("/openapi/v3", ({ body }) => body.paths[key] !== undefined);
    const wanted = [...servedVersions.map(keyOf), key, `apis/${ownGroup(s)}`];
    const shape = (body: Loose): Loose => Object.fromEntries(wanted.map((name) => [name, body.paths[name]]));
    const { body } = await s.get("/openapi/v3", { part: shape, compareHeaders: ["vary", "cache-control"] });
    const url: string = body.paths[key].serverRelativeURL;
    const hashed = await s.get(url, { compareHeaders: ["vary", "cache-control"], part: () => "below" });
    s.note("headers of a hashed document", {
      etag: /^"[0-9A-F]{128}"$/.test(String(hashed.headers.etag)),
      expires: Date.parse(String(hashed.headers["expires"])) > Date.now() + 360 * 24 * 3600 * 1000,
      hash: hashed.headers.etag === `"${new URL(url, "https://x").searchParams.get("hash")}"`,
    });
    await s.get(url, { headers: { "if-none-match": String(hashed.headers.etag) } });
    const stale = await s.get(`/openapi/v3/${key}?hash=STALE`, { part: () => undefined });
    s.note("a stale hash leads to the right one", stale.headers.location === url);
    const plain = await s.get(`/openapi/v3/${key}`, { compareHeaders: ["vary"], part: () => undefined });
    s.note("a document without a hash is not for ever", {
      control: plain.headers["cache-control"],
      etag: plain.headers.etag === hashed.headers.etag,
    });
    await s.get(`/openapi/v3/apis/nope.example.org/v1`);
    await s.get("/openapi/v3", { headers: { accept: "application/json" }, part: (answer) => typeof answer.paths });
    await s.get("/openapi/v3", { headers: { accept: "text/html" }, part: () => undefined });
  }),

  scenario("the document of a custom kind", async (s) => {
    await withOwnWidgets(s);
    const key = `apis/${ownGroup(s)}/v1`;
    await s.until(`/openapi/v3/${key}`, ({ code }) => code === 200);
    const document = await documentOf(s, key);
    const reversed = ownGroup(s).split(".").toReversed().join(".");
    const own = (name: string): boolean => name.startsWith(reversed);
    const { schemas } = document.components;
    s.note("schemas", Object.keys(schemas).sort());
    s.note(
      "schemas of the kind",
      withOwnWords(Object.fromEntries(Object.entries(schemas).filter(([name]) => own(name)))),
    );
    s.note(
      "schemas beside it",
      withoutWords(Object.fromEntries(Object.entries(schemas).filter(([name]) => !own(name)))),
    );
    for (const [path, operations] of Object.entries(document.paths)) s.note(`path ${path}`, withoutWords(operations));
    const { paths: _, components: __, ...rest } = document;
    s.note("the rest of it", rest);
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
      ([, name]) => name ?? "",
    );
    s.note(
      "references that lead nowhere",
      references.filter((name) => schemas[name] === undefined),
    );
  }),

  scenario("the documents of built-in kinds", async (s) => {
    for (const version of servedVersions) {
      const document = await documentOf(s, keyOf(version));
      const paths = servedPaths(version, document.paths);
      for (const [path, operations] of Object.entries(paths)) s.note(`path ${path}`, withoutWords(operations));
      for (const [name, schema] of Object.entries(reachable(paths, document.components.schemas)))
        s.note(`${version} ${name}`, withoutWords(schema));
    }
  }),

  scenario("the old document", async (s) => {
    await withOwnWidgets(s);
    const reversed = ownGroup(s).split(".").toReversed().join(".");
    const name = `${reversed}.v1.Widget`;
    await s.until("/openapi/v2", ({ body }) => body.definitions?.[name] !== undefined);
    const { body } = await s.get("/openapi/v2", { part: ({ swagger, info }) => ({ swagger, title: info?.title }) });
    s.note("the definition of the kind", withOwnWords(body.definitions[name]));
    s.note("the definition of its list", withOwnWords(body.definitions[`${name}List`]));
    const paths = withParameters(body.paths, body.parameters ?? {});
    const served = servedVersions.flatMap((version) => Object.entries(servedPaths(version, paths)));
    const own = Object.entries(paths).filter(([path]) => path.startsWith(`/apis/${ownGroup(s)}/`));
    for (const [path, operations] of [...own, ...served]) {
      s.note(path, withoutWords(operations));
    }
    for (const [known, schema] of Object.entries(reachable(Object.fromEntries(served), body.definitions))) {
      s.note(known, ofServedKinds(withoutWords(schema)));
    }
    const { paths: _, definitions: __, parameters: ___, ...rest } = body;
    s.note("the rest of it", withoutWords(rest));
    await s.get("/openapi/v2", { headers: { accept: "text/html" }, compareHeaders: ["vary"] });
    for (const spelling of ["v2.v1.0", "v2@v1.0"]) {
      const type = `application/com.github.proto-openapi.spec.${spelling}+protobuf`;
      await s.get("/openapi/v2", { headers: { accept: type }, part: () => undefined, compareHeaders: ["vary"] });
    }
  }),

  scenario("kubectl explain", async (s) => {
    await withOwnWidgets(s);
    await s.until(`/openapi/v3/apis/${ownGroup(s)}/v1`, ({ code }) => code === 200);
    const kind = `widgets.${ownGroup(s)}`;
    await s.until("/apis", ({ body }) => body.groups.some((group: Loose) => group.name === ownGroup(s)));
    // What kubectl remembers of the server may be older than the kind; this makes it look again.
    await s.kubectl(["api-resources", `--api-group=${ownGroup(s)}`], { quiet: true });
    await s.kubectl(["explain", `${kind}.spec`, "--recursive"]);
    await s.kubectl(["explain", `${kind}.spec`]);
    await s.kubectl(["explain", `${kind}.spec.parts.count`]);
    await s.kubectl(["explain", `${kind}.spec.nope`]);
    await s.kubectl(["explain", kind, "--api-version", `${ownGroup(s)}/v1beta1`]);
    const { stdout: all } = await s.kubectl(["explain", "deployment.spec.template.spec.containers", "--recursive"], {
      quiet: true,
    });
    s.note("explain containers to the bottom", all.replace(/DESCRIPTION:.*?FIELDS:/s, "FIELDS:"));
    const fields = (text: string): string[] => text.split("\n").filter((row) => /^ {2}\S+\t<|^[A-Z]+:/.test(row));
    for (const path of [
      "deployment.spec.template.spec.containers",
      "configmap",
      "service.spec",
      "customresourcedefinition.spec.versions",
      "lease.spec",
    ]) {
      const { stdout, exitCode } = await s.kubectl(["explain", path], { quiet: true });
      s.note(`explain ${path}`, { exitCode, fields: fields(stdout) });
    }
  }),

  scenario("kubectl create with a typo", async (s) => {
    const custom = { apiVersion: "example.org/v1", kind: "Widget", metadata: { name: "a" }, spec: { sizee: 1 } };
    const typo = deployment("a");
    typo.spec.template.spec.containers[0].imagee = "typo";
    for (const object of [custom, typo]) {
      for (const validate of ["strict", "warn", "ignore", "true"]) {
        await s.kubectl(["create", "--dry-run=server", `--validate=${validate}`, "-f", "-"], {
          input: JSON.stringify(object),
        });
      }
    }
    await s.kubectl(["create", "-f", "-"], { input: JSON.stringify({ ...custom, kind: "Nope" }) });
    await s.kubectl(["create", "-f", "-"], { input: JSON.stringify({ ...custom, spec: { size: "x" } }) });
    await s.kubectl(["create", "-f", "-"], { input: "kind: ConfigMap\nmetadata: {name: a}\n" });
  }),

  scenario("schemas as functions get them", async (s) => {
    await withOwnWidgets(s);
    await s.until(`/openapi/v3/apis/${ownGroup(s)}/v1`, ({ code }) => code === 200);
    const flattened = async (group: string, kind: string): Promise<Loose> => {
      const document = await documentOf(s, keyOf(group === "" ? "v1" : `${group}/v1`));
      const schema = findSchema(document, { group, version: "v1", kind });
      return schema === undefined ? "absent" : inlineReferences(document, schema);
    };
    s.note("Widget", withoutWords(await flattened(ownGroup(s), "Widget")));
    s.note("Deployment", withoutWords(await flattened("apps", "Deployment")));
    s.note("ConfigMap", withoutWords(await flattened("", "ConfigMap")));
  }),
];
