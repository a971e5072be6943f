// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { functionRevisionType, packageLabel } from "@purlin/composition";
import {
  type FunctionSpec,
  findSandbox,
  imageSpec,
  type SandboxSupport,
  settingsOfRuntimeConfig,
} from "@purlin/function-process";
import { isNotFound } from "@purlin/kube-objects/errors";
import { type KubeObject, objectAt, textAt } from "@purlin/kube-objects/object";
import { createRegistryClient, openContentStore, platformOfNode } from "@purlin/oci";
import { isInstalledWith } from "@purlin/package-manager";
import type { Cluster } from "../cluster/cluster-client.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { readProjectFile } from "../project/project-file.ts";
import { isUserError, UserError } from "../user-error.ts";
import { openFileOrImage } from "../xpkg/open-package.ts";
import { asUserError, findCredentials, type Workspace } from "../xpkg/xpkg-workspace.ts";
import type { FunctionOverride } from "./diff-input.ts";

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" } as const;
const runtimeConfigType = { apiVersion: "pkg.crossplane.io/v1beta1", kind: "DeploymentRuntimeConfig" } as const;

/** Where packages are looked for. */
interface ImageDeps {
  readonly input: CommandInput;
  readonly io: Io;
  /** Where revisions are looked up; undefined when there is no control plane. */
  readonly cluster: Cluster | undefined;
  readonly opening: AsyncDisposableStack;
}

/** An image of a function to run on this machine, with what its runtime config says. */
interface FunctionImage {
  readonly name: string;
  /** A package file, or an image reference. */
  readonly source: string;
  readonly env: Readonly<Record<string, string>>;
  readonly args?: readonly string[] | undefined;
  /** Throws when the image has another digest than the one that was installed. */
  readonly requireSame?: ((digest: string) => void) | undefined;
}

/** Fetches and unpacks the packages of overrides. Resolves to how to run them, by the names of their Functions. */
export async function prepareImages(
  overrides: readonly FunctionOverride[],
  deps: ImageDeps,
): Promise<ReadonlyMap<string, FunctionSpec>> {
  const specs = new Map<string, FunctionSpec>();
  const wanted = overrides.filter(({ kind }) => kind === "image" || kind === "revision");
  if (wanted.length === 0) return specs;
  // Before anything is fetched.
  const sandbox = await findSandbox(deps.io.env);
  requireSandboxOfProject(sandbox, deps.io);
  const directory = await mkdtemp(join(tmpdir(), "purlin-diff-images-"));
  deps.opening.defer(() => rm(directory, { recursive: true, force: true }));
  const store = await openContentStore(join(directory, "store"));
  const client = createRegistryClient({ credentials: await findCredentials(deps.input, deps.io) });
  for (const override of wanted) {
    const image = await imageOf(override, deps);
    specs.set(image.name, await specOf(image, { workspace: { store, client }, directory, sandbox, io: deps.io }));
  }
  return specs;
}

/** `functions.requireSandbox` of purlin.yaml holds for every command that runs packages. */
function requireSandboxOfProject(sandbox: SandboxSupport, io: Io): void {
  if (sandbox.isSupported || readProjectFile(io).functions.requireSandbox !== true) return;
  throw new UserError(
    `packages of functions cannot be sandboxed here: ${sandbox.reason}; install bubblewrap ("apt install bubblewrap", or the package of that name elsewhere) and allow user namespaces, or remove functions.requireSandbox from purlin.yaml`,
  );
}

interface SpecDeps {
  readonly workspace: Workspace;
  readonly directory: string;
  readonly sandbox: SandboxSupport;
  readonly io: Io;
}

async function specOf(
  { name, source, env, args, requireSame }: FunctionImage,
  { workspace, directory, sandbox, io }: SpecDeps,
): Promise<FunctionSpec> {
  try {
    const platform = platformOfNode(process);
    const { digest, manifest, manifestDigest } = await openFileOrImage(source, io, { platform, workspace });
    requireSame?.(digest);
    const folder = join(directory, name);
    await mkdir(folder, { recursive: true });
    const { store } = workspace;
    const image = { manifest, descriptor: { digest: manifestDigest, mediaType: "", size: 0 } };
    return await imageSpec({ store, image, name, directory: folder, sandbox }, { env, ...(args && { args }) });
  } catch (error) {
    const problem = asUserError(error);
    // A file that is not a package was given; a registry that does not answer was not.
    if (!existsSync(resolve(io.cwd, source)) || !isUserError(problem)) throw problem;
    throw new UserError(`--function ${name}: ${problem.message}`, { cause: error, exitCode: 2 });
  }
}

/** The image of an override; that of a revision is the one whose digest it was installed with. */
async function imageOf({ name, kind, source }: FunctionOverride, deps: ImageDeps): Promise<FunctionImage> {
  if (kind !== "revision") return { name, source, env: {} };
  const { signal } = deps.io;
  if (deps.cluster === undefined)
    throw new UserError(`revision:${source}: without a control plane it is not known`, { exitCode: 2 });
  const { client } = deps.cluster;
  const revision = await client.get(functionRevisionType, { name: source }, { signal }).catch((error: unknown) => {
    if (isNotFound(error))
      throw new UserError(`--function ${name}: FunctionRevision "${source}" not found`, { exitCode: 2, cause: error });
    throw error;
  });
  const owner = revision.metadata.labels?.[packageLabel];
  if (owner !== name)
    throw new UserError(`--function ${name}: FunctionRevision "${source}" is a revision of Function "${owner}"`, {
      exitCode: 2,
    });
  const image = referenceOf(revision);
  const { metadata } = await client.get(functionType, { name }, { signal });
  const requireSame = (digest: string): void => {
    if (isInstalledWith(revision, { packageName: name, digest, generation: metadata.generation ?? 1 })) return;
    const advice = `name the image that it runs with --function ${name}=IMAGE@DIGEST, or use --functions live`;
    throw new UserError(`FunctionRevision "${source}": ${image} is another image now (${digest}): ${advice}`);
  };
  return { name, source: image, ...(await runtimeOf(revision, deps)), requireSame };
}

function referenceOf(revision: KubeObject): string {
  const image = textAt(revision, ["status", "resolvedImage"]) ?? textAt(revision, ["spec", "image"]) ?? "";
  const digest = textAt(revision, ["spec", "digest"]);
  return digest === undefined || image.includes("@") ? image : `${image}@${digest}`;
}

/** Environment and arguments of a revision's DeploymentRuntimeConfig. Values from Secrets and the like stay on the cluster. */
async function runtimeOf(
  revision: KubeObject,
  { cluster, io }: ImageDeps,
): Promise<Pick<FunctionImage, "env" | "args">> {
  const name = textAt(revision, ["spec", "runtimeConfigRef", "name"]);
  if (name === undefined) return { env: {} };
  const config = await cluster?.client.get(runtimeConfigType, { name }, { signal: io.signal }).catch(ignoreMissing);
  const { env, args, hidden } = settingsOfRuntimeConfig(objectAt(config ?? {}, ["spec"]));
  if (hidden.length > 0)
    io.stderr.write(
      `warning: ${harmlessLine(`${revision.metadata.name}: runs without ${hidden.join(", ")}: values from other objects are not passed to functions on this machine`)}\n`,
    );
  return { env, args };
}

function ignoreMissing(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
  return undefined;
}
