// SPDX-License-Identifier: Apache-2.0

import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { makeProject, projectName } from "../scaffold/make-project.ts";

/** `purlin provider init NAME` */
export async function run({ args }: CommandInput, io: Io): Promise<undefined> {
  const [folder = ""] = args;
  await makeProject(
    {
      folder,
      layers: ["common", "provider"],
      sdk: "provider",
      values: { name: projectName(folder, "provider") },
      next: ["npm install", "npm test", "npx purlin up provider.yaml"],
    },
    io,
  );
}
