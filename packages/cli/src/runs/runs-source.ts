// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import type { KubeClient } from "@purlin/kube-client";
import { findStatusError, isForbidden, isNotFound } from "@purlin/kube-objects/errors";
import {
  inflateRun,
  queryOf,
  type Run,
  type RunDocument,
  type RunFilter,
  type RunSummary,
  readRunStore,
  recorderWaits,
  runsPath,
} from "@purlin/run-store";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { findTargets } from "../cluster/find-resource.ts";
import { eachOnce, type Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { textOf, UserError } from "../user-error.ts";

/** Where a command reads runs: from a control plane, or from the folder of a recorder. */
export interface RunsSource extends AsyncDisposable {
  list(filter: RunFilter): Promise<readonly RunSummary[]>;
  /**
   * The run of an identifier or of its unique beginning, or the newest run of TYPE/NAME that reached its pipeline. Throws a UserError
   * when there is none.
   */
  get(id: string): Promise<Run>;
  /** The runs of the composite resource that the words of a command line name. */
  filterFor(words: readonly string[]): Promise<RunFilter>;
  /** The control plane; undefined when runs are read from a folder. */
  readonly cluster?: Cluster | undefined;
}

/** Opens --recorder-dir, or connects to the control plane. */
export async function openRuns(input: CommandInput, io: Io): Promise<RunsSource> {
  const folder = textOption(input, "recorderDir");
  const source =
    folder === undefined
      ? fromPlane(await openCluster(input, io), input, io)
      : fromFolder(resolve(io.cwd, folder), textOption(input, "namespace"));
  return { ...source, get: async (name) => source.get(name.includes("/") ? await newestOf(source, name) : name) };
}

async function newestOf(source: RunsSource, name: string): Promise<string> {
  const runs = await source.list(await source.filterFor([name]));
  const newest = runs.find(({ steps }) => steps.length > 0);
  if (newest === undefined) throw new UserError(`no recorded run of ${name} reached its pipeline`);
  return newest.id;
}

function fromPlane(cluster: Cluster, input: CommandInput, io: Io): RunsSource {
  const service = textOption(input, "recorderService");
  const ask = createRunsAsker(cluster.client, { signal: io.signal, service });
  const say = eachOnce((text) => void io.stderr.write(`${text}\n`));
  return {
    cluster,
    async list(filter) {
      const answer = await ask(runsPath, queryOf(filter)).catch((error: unknown) => {
        if (isNotFound(error)) throw new UserError(`${notRecorded} (${textOf(error)})`, { cause: error });
        throw error;
      });
      const { items, problem, dropped } = answer as RunList;
      if (dropped > 0) say(`note: ${dropped} runs were not recorded, because too many came at once`);
      if (problem !== null) say(`warning: runs are no longer recorded: ${problem}`);
      return items;
    },
    async get(id) {
      const path = `${runsPath}/${encodeURIComponent(id)}`;
      try {
        return inflateRun((await ask(path)) as RunDocument);
      } catch (error) {
        throw isNotFound(error) ? noSuchRun(id) : error;
      }
    },
    filterFor: (words) => filterOf(cluster, words, { input, io }),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

/** The answer of a control plane. */
interface RunList {
  readonly items: readonly RunSummary[];
  readonly problem: string | null;
  readonly dropped: number;
}

const notRecorded =
  'the API server has no recorded runs: serve them with "purlin start --recorder-dir DIR --recorder-address :8082" and the Service purlin-runs, or read the folder with --recorder-dir DIR';

function noSuchRun(id: string): UserError {
  return new UserError(`run "${id}" not found: list runs with "purlin runs ls"; a prefix must be unique`);
}

function fromFolder(folder: string, namespace: string | undefined): RunsSource {
  const reader = fromStore(folder, () => readRunStore(folder));
  return {
    list: async (filter) => fromStore(folder, () => reader.list(filter)),
    async get(id) {
      const run = fromStore(folder, () => {
        const document = reader.get(id);
        return document && inflateRun(document);
      });
      if (run === undefined) throw noSuchRun(id);
      return run;
    },
    filterFor: async (words) => filterOfWords(words, namespace),
    async [Symbol.asyncDispose]() {
      reader[Symbol.dispose]();
    },
  };
}

function fromStore<T>(folder: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UserError(`--recorder-dir ${folder}: cannot read runs: ${textOf(error)}`, { cause: error });
  }
}

interface Asking {
  readonly input: CommandInput;
  readonly io: Io;
}

async function filterOf(cluster: Cluster, words: readonly string[], { input, io }: Asking): Promise<RunFilter> {
  // Several composite resources are those of all namespaces, unless one is named.
  const named = textOption(input, "namespace");
  if (words.length === 0) return { namespace: named };
  const [target, another] = await findTargets(cluster.client, words, io.signal);
  if (target === undefined || another !== undefined) {
    throw new UserError(`specify one composite resource as TYPE/NAME, not "${words.join(" ")}"`, { exitCode: 2 });
  }
  const { apiVersion, kind, namespaced } = target.resource;
  const slash = apiVersion.indexOf("/");
  return {
    kind,
    ...(slash > 0 && { group: apiVersion.slice(0, slash) }),
    ...(namespaced && { namespace: target.name === undefined ? named : cluster.namespace }),
    name: target.name,
  };
}

/** Without an API server, a type is the name of its kind, in any case, and no namespace stands for all of them. */
function filterOfWords(words: readonly string[], namespace: string | undefined): RunFilter {
  if (words.length === 0) return { namespace };
  const [type = "", name] = words.length === 1 ? (words[0] ?? "").split("/") : words;
  const [kind, ...group] = type.split(".");
  return { kind, ...(group.length > 0 && { group: group.join(".") }), name, namespace };
}

/** Reads a document about recorded runs: their list at {@link runsPath}, or one of them below it. */
export type AskRuns = (path: string, query?: Readonly<Record<string, string>>) => Promise<unknown>;

/** The Service of a control plane on a cluster, unless --recorder-service names another. */
export const defaultRecorderService = "crossplane-system/purlin-runs:runs";

/** With two replicas one of a million reads meets the other one so often. */
const replicaTries = 20;

/**
 * Asks the API server itself, which serves the runs of `purlin up`. Where it does not know the path, or may not say whether it does,
 * asks `purlin start` through the API server's service proxy. Throws the 404 of the Service when there is none.
 */
export function createRunsAsker(
  client: KubeClient,
  { signal, service = defaultRecorderService }: { readonly signal: AbortSignal; readonly service?: string | undefined },
): AskRuns {
  const proxy = proxyPath(service);
  const get = (path: string, query: Readonly<Record<string, string>>): Promise<unknown> =>
    client.raw({ method: "GET", path, query, signal });
  let base: string | undefined;
  return async (path, query = {}) => {
    if (base !== undefined) return await fromReplica(() => get(`${base}${path}`, query));
    try {
      const answer = await get(path, query);
      base = "";
      return answer;
    } catch (error) {
      if (!isNotFound(error) && !isForbidden(error)) throw error;
      // The run may be unknown here: the list says whether runs are served at all.
      if (path !== runsPath && (await isServed(get))) throw error;
    }
    const answer = await fromReplica(() => get(`${proxy}${path}`, query));
    base = proxy;
    return answer;
  };
}

function isServed(get: (path: string, query: Readonly<Record<string, string>>) => Promise<unknown>): Promise<boolean> {
  return get(runsPath, { limit: "1" }).then(
    () => true,
    () => false,
  );
}

/** The API server picks any replica of the Service, and only the leader answers. */
async function fromReplica(ask: () => Promise<unknown>): Promise<unknown> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (tries === replicaTries || findStatusError(error)?.status.message !== recorderWaits) throw error;
    }
  }
}

function proxyPath(service: string): string {
  const [, namespace, name, port] = /^(?:([a-z0-9-]+)\/)?([a-z0-9-]+)(?::([a-z0-9-]+))?$/.exec(service) ?? [];
  if (name === undefined) {
    throw new UserError(`--recorder-service: expected [NAMESPACE/]NAME[:PORT], not "${service}"`, { exitCode: 2 });
  }
  return `/api/v1/namespaces/${namespace ?? "crossplane-system"}/services/${name}:${port ?? "runs"}/proxy`;
}
