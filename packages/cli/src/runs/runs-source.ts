// SPDX-License-Identifier: Apache-2.0

import { resolve } from "node:path";
import { isNotFound } from "@purlin/kube-objects/errors";
import {
  inflateRun,
  queryOf,
  type Run,
  type RunDocument,
  type RunFilter,
  type RunSummary,
  readRunStore,
  runsPath,
} from "@purlin/run-store";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { findTargets } from "../cluster/find-resource.ts";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { textOf, UserError } from "../user-error.ts";
import { createRunsAsker } from "./ask-runs.ts";

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
  return {
    cluster,
    async list(filter) {
      const answer = await ask(runsPath, queryOf(filter)).catch((error: unknown) => {
        if (isNotFound(error)) throw new UserError(`${notRecorded} (${textOf(error)})`, { cause: error });
        throw error;
      });
      const { items, problem, dropped } = answer as RunList;
      if (dropped > 0) io.stderr.write(`note: ${dropped} runs were not recorded, because too many came at once\n`);
      if (problem !== null) io.stderr.write(`warning: runs are no longer recorded: ${problem}\n`);
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
  const reader = openFolder(folder);
  return {
    list: async (filter) => reader.list(filter),
    async get(id) {
      const document = reader.get(id);
      if (document === undefined) throw noSuchRun(id);
      return inflateRun(document);
    },
    filterFor: async (words) => filterOfWords(words, namespace),
    async [Symbol.asyncDispose]() {
      reader[Symbol.dispose]();
    },
  };
}

function openFolder(folder: string): ReturnType<typeof readRunStore> {
  try {
    return readRunStore(folder);
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
