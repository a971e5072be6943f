// SPDX-License-Identifier: Apache-2.0
import { textAt } from "@purlin/kube-objects/object";
import type { Cluster } from "../cluster/cluster-client.ts";
import type { Resource } from "../cluster/find-resource.ts";
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import type { Candidate } from "./complete-command.ts";

/** Names that exist now, of which those that begin with what was typed. */
export interface LiveNames extends AsyncDisposable {
  types(prefix: string): Promise<readonly Candidate[]>;
  namesOf(type: string, prefix: string): Promise<readonly Candidate[]>;
  /** `TYPE/NAME`. */
  objects(prefix: string): Promise<readonly Candidate[]>;
  namespaces(prefix: string): Promise<readonly Candidate[]>;
  contexts(prefix: string): Promise<readonly Candidate[]>;
  functions(prefix: string): Promise<readonly Candidate[]>;
  /** Composite resources of all definitions, as `KIND/NAME`. */
  composites(prefix: string): Promise<readonly Candidate[]>;
  runs(prefix: string): Promise<readonly Candidate[]>;
}

const definitionType = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositeResourceDefinition" };

/** More names than this help no one. */
const mostNames = 500;

/** The names of the control plane that a command line means. The connection is made when the first name is needed. */
export function openLiveNames(input: CommandInput, io: Io): LiveNames {
  let opened: Promise<Cluster> | undefined;
  const cluster = (): Promise<Cluster> =>
    (opened ??= import("../cluster/cluster-client.ts").then(({ openCluster }) =>
      openCluster(input, io, { ignoresWarnings: true }),
    ));
  const list = async (type: string): Promise<readonly string[]> => {
    const { findResource } = await import("../cluster/find-resource.ts");
    const { client, namespace } = await cluster();
    return listNames({ client, namespace, resource: await findResource(client, type, io.signal), signal: io.signal });
  };
  const beginning = (names: readonly string[], prefix: string): Candidate[] =>
    names.filter((name) => name.startsWith(prefix)).map((value) => ({ value }));
  return {
    async types(prefix) {
      const { allResources } = await import("../cluster/find-resource.ts");
      const resources = await allResources((await cluster()).client, io.signal);
      return typeNames(resources).filter(({ value }) => value.startsWith(prefix));
    },
    namesOf: async (type, prefix) => beginning(await list(type), prefix),
    async objects(prefix) {
      const [type = ""] = prefix.split("/");
      if (!prefix.includes("/")) return this.types(prefix);
      return beginning(
        (await list(type)).map((name) => `${type}/${name}`),
        prefix,
      );
    },
    namespaces: async (prefix) => beginning(await list("namespaces"), prefix),
    async contexts(prefix) {
      const { contextNames } = await import("../cluster/cluster-client.ts");
      return beginning(await contextNames(input, io), prefix);
    },
    functions: async (prefix) => beginning(await list("functions.pkg.crossplane.io"), prefix),
    async composites(prefix) {
      const { items } = await (await cluster()).client.list(definitionType, { signal: io.signal });
      const lists = items.map(async (definition) => {
        const names = await list(
          `${textAt(definition, ["spec", "names", "plural"])}.${textAt(definition, ["spec", "group"])}`,
        );
        return names.map((name) => `${textAt(definition, ["spec", "names", "kind"])}/${name}`);
      });
      return beginning((await Promise.all(lists)).flat(), prefix);
    },
    async runs(prefix) {
      const { openRuns } = await import("../runs/runs-source.ts");
      await using source = await openRuns(input, io);
      return (await source.list({}))
        .filter(({ id }) => id.startsWith(prefix))
        .slice(0, mostNames)
        .map(({ id, outcome, xr }) => ({ value: id, description: `${xr.kind}/${xr.name} ${outcome}` }));
    },
    async [Symbol.asyncDispose]() {
      const one = await opened?.catch(() => undefined);
      await one?.[Symbol.asyncDispose]();
    },
  };
}

interface Listing {
  readonly client: Cluster["client"];
  readonly namespace: string;
  readonly resource: Resource;
  readonly signal: AbortSignal;
}

async function listNames({ client, namespace, resource, signal }: Listing): Promise<readonly string[]> {
  const { pathOf } = await import("../cluster/find-resource.ts");
  const answer = await client.raw({
    method: "GET",
    path: pathOf(resource, { namespace }),
    query: { limit: String(mostNames) },
    accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
    signal,
  });
  const { items = [] } = answer as { readonly items?: readonly { readonly metadata?: { readonly name?: string } }[] };
  return items.flatMap(({ metadata }) => metadata?.name ?? []);
}

/** Plurals; those that several groups have, with their group. */
function typeNames(resources: readonly Resource[]): Candidate[] {
  const seen = new Set<string>();
  return resources.map(({ plural, kind, apiVersion }) => {
    const group = apiVersion.includes("/") ? `.${apiVersion.split("/")[0]}` : "";
    const value = seen.has(plural) ? `${plural}${group}` : plural;
    seen.add(plural);
    return { value, description: `${kind}.${apiVersion}` };
  });
}
