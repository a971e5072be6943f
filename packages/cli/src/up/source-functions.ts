// SPDX-License-Identifier: Apache-2.0
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Log } from "@purlin/base";
import type { ControlPlaneDeps } from "@purlin/control-plane";
import { type FunctionProcesses, type SourceFolders, type SourceOptions, sourceSpec } from "@purlin/function-process";
import { type DevelopmentTrust, developmentAnnotations, honoredDevelopmentOf } from "@purlin/function-runner";
import { mastersGroup, type WriteGuard } from "@purlin/kube-apiserver";
import { type Informer, type KubeReader, startInformer } from "@purlin/kube-client";
import { type KubeObject, keyOf, type TypeRef } from "@purlin/kube-objects/object";
import { manifestManager } from "../manifests/apply-manifests.ts";
import { definitionType, kindsOf } from "../tree/defined-kinds.ts";
import { textOf } from "../user-error.ts";
import type { UpOptions } from "./up-options.ts";

/** The type of Functions. */
export const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" } as const;

/** The type of Providers. */
export const providerType = { apiVersion: "pkg.crossplane.io/v1", kind: "Provider" } as const;

/** Only files that the operator applies may run a program of this machine, or send calls to another program. */
export const upTrust: DevelopmentTrust = { managers: [manifestManager] };

/** The kinds that may run from source files, by resource. */
const developed: Readonly<Partial<Record<string, string>>> = { functions: "Function", providers: "Provider" };

/**
 * Field managers are only names: any user may use the one of applied files. So only the operator may write a Function or a Provider in a way
 * that makes development annotations count. A webhook or a policy may not do that to one of the operator either: users that register them
 * need not be the operator.
 */
export const guardDevelopment: WriteGuard = ({ user, group, resource, object, old, sent }) => {
  const kind = group === "pkg.crossplane.io" ? developed[resource] : undefined;
  if (kind === undefined) return undefined;
  const isOperator = user.groups.includes(mastersGroup);
  if (isOperator && sent === undefined) return undefined;
  const wanted = honoredDevelopmentOf(object, upTrust);
  const allowed = [old, isOperator ? sent : undefined].map((one) => one && honoredDevelopmentOf(one, upTrust));
  if (wanted === undefined || allowed.some((one) => isDeepStrictEqual(wanted, one))) return undefined;
  const { runtime, source } = developmentAnnotations;
  const annotation = wanted.kind === "source" ? source : runtime;
  return `annotation ${annotation} can only be set by members of ${mastersGroup}: ask the operator of purlin up to put the ${kind} into a file`;
};

/**
 * Starts the source file of a Function as soon as there is one, so that it is warm and its mistakes are seen before
 * anything is composed with it, and ends it with its Function.
 */
export function followFunctions(client: KubeReader, processes: FunctionProcesses, options: SourceOptions): Informer {
  const informer = startInformer(client, functionType);
  // A Function may have the name of a FunctionRevision, whose process is not stopped with it.
  const started = new Set<string>();
  informer.subscribe(({ type, object }) => {
    const name = object.metadata.name ?? "";
    const source = type === "deleted" ? undefined : sourceOf(object);
    if (source !== undefined) {
      started.add(name);
      processes.run(sourceSpec(name, source, options));
    } else if (started.delete(name)) {
      void processes.stop(name);
    }
  });
  return informer;
}

function sourceOf(object: KubeObject): string | undefined {
  const development = honoredDevelopmentOf(object, upTrust);
  return development?.kind === "source" ? development.path : undefined;
}

/** The file of a data directory with the folders that the last command line named. */
const fileName = "folders.json";

/**
 * Where the source files of Functions may lie: in the folders of the command line, or in those of the last one that named any. A file
 * stands for its folder. The data directory with its unpacked images is left out.
 */
export async function sourceFolders(
  { paths, directory }: Pick<UpOptions, "paths" | "directory">,
  cwd: string,
): Promise<SourceFolders> {
  const file = join(directory, fileName);
  const known = await readFolders(file);
  if (paths.length === 0) return { folders: known, except: [directory] };
  const folders = [...new Set(await Promise.all(paths.map((path) => folderOf(resolve(cwd, path)))))];
  if (JSON.stringify(folders) !== JSON.stringify(known)) await writeFolders(file, folders);
  return { folders, except: [directory] };
}

async function folderOf(path: string): Promise<string> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isFolder ? path : dirname(path);
}

async function readFolders(file: string): Promise<readonly string[]> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  } catch {
    // Missing or damaged: the next command line that names folders writes it again.
    return [];
  }
}

async function writeFolders(file: string, folders: readonly string[]): Promise<void> {
  await writeFile(`${file}.new`, `${JSON.stringify(folders)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

const compositionType: TypeRef = { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition" };

/** Has all composite resources that a function takes part in looked at again: its author wants to see what changed. */
export async function wakeComposites(parts: ControlPlaneDeps, functionName: string, log: Log): Promise<void> {
  try {
    const { client, engine } = parts;
    const compositions = await client.list(compositionType);
    const types = new Set(compositions.filter((one) => uses(one, functionName)).map(compositeTypeOf));
    for (const definition of await client.list(definitionType)) {
      const kinds = kindsOf(definition);
      if (kinds === undefined || !types.has(typeText(kinds.composite))) continue;
      const name = `composite/${definition.metadata.name ?? ""}`;
      if (!engine.isRunning(name)) continue;
      for (const object of await client.list(kinds.composite)) engine.enqueue(name, keyOf(object));
    }
  } catch (error) {
    // They are looked at again anyway, only later.
    log.info("cannot requeue composite resources", { function: functionName, error: textOf(error) });
  }
}

interface CompositionSpec {
  readonly compositeTypeRef?: Partial<TypeRef>;
  readonly pipeline?: readonly { readonly functionRef?: { readonly name?: string } }[];
}

function specOf(composition: KubeObject): CompositionSpec {
  return (composition["spec"] ?? {}) as CompositionSpec;
}

function uses(composition: KubeObject, functionName: string): boolean {
  return specOf(composition).pipeline?.some(({ functionRef }) => functionRef?.name === functionName) === true;
}

function compositeTypeOf(composition: KubeObject): string {
  const { apiVersion = "", kind = "" } = specOf(composition).compositeTypeRef ?? {};
  return typeText({ apiVersion, kind });
}

function typeText({ apiVersion, kind }: TypeRef): string {
  return `${apiVersion}/${kind}`;
}
