# The builder can be replaced, for a mirror: make docker-build DOCKER_ARGS="--build-arg BUILDER_IMAGE=..."
# Where there is no Docker, make image builds the same without it.
ARG BUILDER_IMAGE=golang:1.26

# The compiler runs on the machine's own platform and cross-compiles.
FROM --platform=$BUILDPLATFORM ${BUILDER_IMAGE} AS builder
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=unknown
WORKDIR /workspace
# The modules have a layer of their own, so that a change of the code does not download them again.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} \
    go build -trimpath -tags=grpcnotrace -ldflags="-s -w -X github.com/mycompany/pod-operator/internal/version.Version=${VERSION}" -o manager ./cmd/manager

FROM scratch
WORKDIR /
COPY --from=builder /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=builder /workspace/manager .
USER 65532:65532
ENTRYPOINT ["/manager"]
