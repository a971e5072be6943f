// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import type { CredentialsFor, RegistryCredentials } from "@purlin/oci";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";

/** What Docker's `config.json` says about programs that keep credentials. */
interface HelperConfig {
  readonly credHelpers?: unknown;
  readonly credsStore?: unknown;
}

const timeoutMs = 60_000;
const maxAnswerBytes = 1024 * 1024;
/** Helpers say this, and nothing else, of a registry they do not know. */
const unknownRegistry = /credentials not found/i;
/** The name of a user that stands for a refresh token. */
const tokenUser = "<token>";

/** Asks the programs that a Docker `config.json` names: one for a registry, or one for all. They answer when a registry asks. */
export function credentialsFromHelpers(text: string, where: string, io: Io): CredentialsFor {
  const { credHelpers, credsStore } = (JSON.parse(text) ?? {}) as HelperConfig;
  const byRegistry = (typeof credHelpers === "object" ? credHelpers : undefined) as Record<string, unknown> | undefined;
  return async (source) => {
    const [registry = ""] = source.split("/");
    const helper = byRegistry?.[registry] ?? credsStore;
    if (typeof helper !== "string" || helper === "") return undefined;
    return credentialsOf(await ask({ helper, registry, where }, io), `docker-credential-${helper}`);
  };
}

interface Question {
  readonly helper: string;
  readonly registry: string;
  readonly where: string;
}

/** What a helper prints about a registry; undefined when it knows nothing. */
function ask({ helper, registry, where }: Question, { env, signal, stderr }: Io): Promise<string | undefined> {
  // A name, never a path: whoever writes config.json does not choose which file is run.
  if (!/^[A-Za-z0-9._-]+$/.test(helper)) throw new UserError(`${where}: ${JSON.stringify(helper)} names no helper`);
  const program = `docker-credential-${helper}`;
  const options = { env: { ...env }, signal, timeout: timeoutMs, maxBuffer: maxAnswerBytes };
  return new Promise((resolve, reject) => {
    const child = execFile(program, ["get"], options, (error, stdout, said) => {
      if (error === null) return resolve(stdout);
      if (unknownRegistry.test(stdout) || unknownRegistry.test(said)) return resolve(undefined);
      if (error.code === "ENOENT") {
        // Left behind by a Docker that is gone, often; many registries want nobody's credentials.
        stderr.write(`warning: ${where} names ${program}, which is not there: going on without it\n`);
        return resolve(undefined);
      }
      const why = [stdout, said].map((one) => one.trim()).find((one) => one !== "") ?? error.message;
      reject(new UserError(`${program} gives no credentials for ${registry}: ${oneLine(why)}`, { cause: error }));
    });
    // One that ends without listening is told of above.
    child.stdin?.on("error", () => {});
    child.stdin?.end(registry);
  });
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").slice(0, 300);
}

function credentialsOf(answer: string | undefined, program: string): RegistryCredentials | undefined {
  if (answer === undefined) return undefined;
  let read: { Username?: unknown; Secret?: unknown };
  try {
    read = (JSON.parse(answer) ?? {}) as typeof read;
  } catch (cause) {
    throw new UserError(`${program} does not answer in JSON`, { cause });
  }
  const { Username: username, Secret: secret } = read;
  if (typeof username !== "string" || typeof secret !== "string" || secret === "") return undefined;
  return username === tokenUser ? { identityToken: secret } : { username, password: secret };
}
