// SPDX-License-Identifier: Apache-2.0

import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { makeProject, projectName } from "../scaffold/make-project.ts";

/** `purlin function init NAME` */
export async function run({ args }: CommandInput, io: Io): Promise<undefined> {
  const [folder = ""] = args;
  const name = projectName(folder);
  await makeProject(
    {
      folder,
      layers: ["common", "function"],
      values: { name, function: name },
      next: ["npm install", "npm test", "npm start -- --insecure"],
    },
    io,
  );
}
