// SPDX-License-Identifier: Apache-2.0
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ContentStore,
  createRegistryClient,
  isImageReferenceError,
  isOciError,
  isPackageError,
  isPullSecretError,
  openContentStore,
  type RegistryClient,
} from "@purlin/oci";
import type { CommandInput } from "../commands/command-spec.ts";
import { explain } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { isUserError, textOf, UserError } from "../user-error.ts";
import { findCredentials } from "./find-credentials.ts";

/** What the commands for packages work with. */
export interface Workspace {
  /** Gone when the command ends. */
  readonly store: ContentStore;
  readonly client: RegistryClient;
}

/** Runs the work of a command with a store of its own, and tells what went wrong as the user can put it right. */
export async function inWorkspace<T>(
  input: CommandInput,
  io: Io,
  work: (workspace: Workspace) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "purlin-xpkg-"));
  try {
    const store = await openContentStore(folder);
    const client = createRegistryClient({ credentials: await findCredentials(input, io) });
    return await work({ store, client });
  } catch (error) {
    throw asUserError(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const ownRegistryAdvice =
  'for the registry of "purlin up", run the command in its folder or set PURLIN_DATA_DIR to its data directory';

/** What the user can do something about, as a UserError; anything else as it is. */
export function asUserError(error: unknown): unknown {
  if (isUserError(error)) return error;
  if (isOciError(error, "unauthorized")) {
    // The library speaks of pull secrets, which is what a control plane has.
    const what = textOf(error).replace(/; (?:check|give) .*$/, "");
    const login = `log in with "docker login", or name a file with --registry-config`;
    const advice = /\b127\.0\.0\.1:/.test(what) ? `${login}; ${ownRegistryAdvice}` : login;
    return new UserError(`${what}: ${advice}`, { cause: error });
  }
  if (isOciError(error, "unreachable")) {
    const what = textOf(error).replace(/; check .*$/, "");
    return new UserError(`${what}: check the name of the registry, and whether it runs`, { cause: error });
  }
  if (isOciError(error) || isPackageError(error) || isImageReferenceError(error) || isPullSecretError(error)) {
    return new UserError(textOf(error), { cause: error });
  }
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (typeof code === "string" && typeof path === "string") {
    return new UserError(`${path}: ${explain(error)}`, { cause: error });
  }
  return error;
}
