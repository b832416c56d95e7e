import { createAsyncApi } from './api-docs/asyncapi.ts';
import { createOpenApi } from './api-docs/openapi.ts';
import { createSwagger } from './api-docs/swagger.ts';
import type { Deps } from './deps.ts';
import type { Api } from './operation.ts';

/** The documents of the ARI. Each is given the `Host` that was asked, so that its addresses lead back here. */
export interface ApiDocs {
  /** Swagger 1.2: `resources.json` or a resource's file; undefined for any other name. */
  swagger(file: string, host?: string): object | undefined;
  openApi(host?: string): object;
  asyncApi(host?: string): object;
}

/** The API with only those operations whose owner exists. */
export const present = (api: Api, owners: Deps): Api => ({
  ...api,
  resources: api.resources.map((resource) => ({
    ...resource,
    operations: resource.operations.filter(({ owner }) => owners[owner] !== undefined),
  })),
});

/** Makes the documents of the ARI that is served, once; asking for one costs no more than writing it out. */
export function createApiDocs(ari: Api, owners: Deps): ApiDocs {
  const served = present(ari, owners);
  return {
    swagger: createSwagger(served),
    openApi: createOpenApi(served),
    asyncApi: createAsyncApi(served.version),
  };
}
