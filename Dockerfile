# The assistant as a container: built from source, run without root, state in /data. See docs/docker.md.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN npm run build

FROM node:24-bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends tini bubblewrap ca-certificates git \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
 && install -d -o node -g node -m 0700 /data
WORKDIR /app
COPY --from=build /app/dist ./dist
COPY package.json README.md CHANGELOG.md LICENSE ./
COPY skills ./skills
COPY workspace-template ./workspace-template
COPY docs/*.md ./docs/
RUN ln -s /app/dist/launcher.cjs /usr/local/bin/assistant
# With more arenas glibc keeps tens of megabytes that no one uses.
ENV NODE_ENV=production ASSISTANT_HOME=/data MALLOC_ARENA_MAX=2
USER node
VOLUME /data
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:18790/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "node", "--max-semi-space-size=4", "dist/launcher.cjs"]
# The port is fixed here, so that the health check asks the right one whatever the configuration says.
CMD ["gateway", "--port", "18790"]
