"""Telling the provider, rule and price of a call."""

import pytest

from stemcache.errors import UsageError
from stemcache.provider.book import Book, load_book
from stemcache.provider.resolve import Resolved, resolve
from stemcache.wire.api import Api

BOOK = load_book()


def told(
    host: str | None = None,
    model: str | None = None,
    api: Api | None = None,
    *,
    provider: str | None = None,
    marked: bool = False,
    aliases: dict[str, str] | None = None,
    book: Book = BOOK,
) -> Resolved:
    """What is resolved."""
    return resolve(
        book,
        provider=provider,
        host=host,
        model=model,
        api=api,
        marked=marked,
        aliases=aliases or {},
    )


@pytest.mark.parametrize(
    ("host", "model", "rule", "how"),
    [
        ("api.anthropic.com", "claude-opus-5", "anthropic", "host"),
        ("https://api.anthropic.com:443/v1", "claude-opus-5", "anthropic", "host"),
        ("API.OPENAI.COM", "gpt-5.5", "openai-pre-5.6", "host"),
        ("api.openai.com", "gpt-5.6-sol", "openai-5.6", "host"),
        ("api.openai.com", "ft:gpt-4o-mini-2024-07-18:acme::x", "openai-pre-5.6", "host"),
        ("acme.openai.azure.com", "gpt-5.6", "azure-openai-5.6", "host"),
        ("acme.openai.azure.com", "gpt-4o", "azure-openai-pre-5.6", "host"),
        ("acme.openai.azure.com", "our-deployment", None, "host"),
        ("acme.services.ai.azure.com", "claude-opus-5", "azure-anthropic", "host"),
        (
            "bedrock-runtime.us-east-1.amazonaws.com",
            "us.anthropic.claude-opus-5",
            "bedrock",
            "host",
        ),
        (
            "bedrock-runtime.eu-west-1.amazonaws.com",
            "amazon.nova-pro-v1:0",
            "bedrock-other",
            "host",
        ),
        (
            "bedrock-runtime.us-east-1.amazonaws.com",
            "arn:aws:bedrock:us-east-1:1:application-inference-profile/ab12",
            "bedrock",
            "host",
        ),
        ("us-east5-aiplatform.googleapis.com", "claude-opus-5", "vertex-anthropic", "host"),
        ("aiplatform.googleapis.com", "gemini-2.5-pro", "vertex-gemini", "host"),
        ("generativelanguage.googleapis.com", "gemini-2.5-pro", "gemini", "host"),
        ("api.deepseek.com", "deepseek-chat", "deepseek", "host"),
        ("dashscope-intl.aliyuncs.com", "qwen3.8-max", "qwen", "host"),
        ("api.minimax.io", "MiniMax-M3", "minimax", "host"),
        ("api.x.ai", "grok-4.7", "xai", "host"),
        ("api.mistral.ai", "mistral-large-latest", "mistral", "host"),
        ("api.groq.com", "llama-3.3-70b-versatile", "groq", "host"),
        ("api.fireworks.ai", "accounts/fireworks/models/x", "fireworks", "host"),
        ("api.together.xyz", "meta-llama/Llama-3", "together", "host"),
        ("api.moonshot.ai", "kimi-k3", "moonshot", "host"),
        ("api.z.ai", "glm-5.3", "zhipu", "host"),
        ("api.cerebras.ai", "zai-glm-4.7", "cerebras", "host"),
        ("openrouter.ai", "anthropic/claude-opus-4.5", "openrouter-anthropic", "host"),
        ("openrouter.ai", "openai/gpt-5.5", "openrouter-openai-pre-5.6", "host"),
        ("openrouter.ai", "meta-llama/llama-3", "openrouter", "host"),
        # names that gateways and traces log in the host's place
        ("anthropic", "claude-opus-5", "anthropic", "host"),
        ("bedrock_converse", "anthropic.claude-opus-5", "bedrock", "host"),
        ("vertex_ai-anthropic_models", "claude-opus-5", "vertex-anthropic", "host"),
        ("aws.bedrock", "anthropic.claude-opus-5", "bedrock", "host"),
        ("az.ai.openai", "gpt-5.5", "azure-openai-pre-5.6", "host"),
        ("gcp.gemini", "gemini-2.5-pro", "gemini", "host"),
        ("hosted_vllm", "Qwen/Qwen3-8B", "vllm", "host"),
        ("x_ai", "grok-4.7", "xai", "host"),
        ("vertex.anthropic.messages", "claude-opus-5", "vertex-anthropic", "host"),
        ("openai.responses", "gpt-5.6", "openai-5.6", "host"),
        ("Anthropic", "claude-opus-5", "anthropic", "host"),
        ("aws-external-anthropic.us-west-2.api.aws", "claude-opus-5", "anthropic", "host"),
        # clients of other servers that call themselves openai
        ("openai", "deepseek-chat", "deepseek", "host"),
        ("openai", "claude-opus-5", "anthropic", "host"),
        ("openai", "Qwen/Qwen3-8B", None, "host"),
        # by model
        (None, "claude-opus-5", "anthropic", "model"),
        (None, "gpt-5.5", "openai-pre-5.6", "model"),
        (None, "gpt-6.1-sol", "openai-5.6", "model"),
        (None, "o3-mini", "openai-pre-5.6", "model"),
        (None, "gemini-3.8-flash", "gemini", "model"),
        (None, "models/gemini-3.8-flash", "gemini", "model"),
        (None, "deepseek-reasoner", "deepseek", "model"),
        (None, "us.anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock", "model"),
        (None, "claude-haiku-4-5@20251001", "vertex-anthropic", "model"),
        (None, "openrouter/anthropic/claude-opus-4.5", "openrouter-anthropic", "model"),
        (None, "bedrock/us.anthropic.claude-opus-5", "bedrock", "model"),
        (None, "azure/gpt-4o", "azure-openai-pre-5.6", "model"),
        (None, "dashscope/glm-5.1", "qwen", "model"),
        (None, "hosted_vllm/Qwen/Qwen3-8B", "vllm", "model"),
        ("127.0.0.1:4000", "claude-opus-5", "anthropic", "model"),
        ("gateway.acme.internal", "gpt-5.5", "openai-pre-5.6", "model"),
        # open weights behind an unknown host tell nothing
        ("localhost:8000", "deepseek-chat", None, ""),
        ("localhost:8000", "kimi-k3", None, ""),
        (None, "Qwen/Qwen3-8B", None, ""),
        (None, "gpt-oss-120b", None, ""),
        (None, "llama-3", None, ""),
        (None, None, None, ""),
        ("evil.com/api.anthropic.com", "x", None, ""),
        ("api.anthropic.com.evil.com", "x", None, ""),
    ],
)
def test_a_call_is_told_by_host_then_model(
    host: str | None, model: str | None, rule: str | None, how: str
) -> None:
    """Each way that logs name a provider leads to its rule, and what tells nothing nowhere."""
    found = told(host, model)
    assert (found.rule and found.rule.name, found.how) == (rule, how)


def test_a_flag_comes_first() -> None:
    """`--provider` wins over host and model, by provider or by the name of a rule."""
    assert told("api.openai.com", "x", provider="vllm").how == "flag"
    found = told("api.openai.com", "gpt-6-sol", provider="openai-pre-5.6")
    assert found.rule is not None
    assert found.rule.name == "openai-pre-5.6"
    assert found.price is not None
    named = told(None, "claude-opus-5", provider="anthropic")
    assert named.rule is not None
    assert named.rule.minimum_tokens.likely == 512
    bare = told(None, None, provider="bedrock")
    assert bare.rule is not None
    assert bare.rule.name == "bedrock"


def test_an_unknown_flag_is_an_error_with_the_nearest_name() -> None:
    """A slip of the hand is not taken for no provider."""
    with pytest.raises(UsageError, match="unknown provider 'antropic' from provider; did you"):
        told(provider="antropic")


def test_an_alias_stands_for_a_model() -> None:
    """A deployment's name is looked up as the model that the user says it is."""
    found = told(None, "our-deploy", aliases={"our-deploy": "claude-opus-4-6"})
    assert (found.how, found.model) == ("alias", "claude-opus-4-6")
    assert found.rule is not None
    assert found.rule.minimum_tokens.likely == 4096
    azure = told("acme.openai.azure.com", "prod", aliases={"prod": "gpt-5.6-sol"})
    assert azure.rule is not None
    assert azure.rule.name == "azure-openai-5.6"
    assert azure.price is not None
    assert azure.price.input_usd_per_mtok == 4.0


@pytest.mark.parametrize(
    ("model", "plain", "explicit"),
    [
        ("qwen3.7-max", "qwen", "qwen-explicit"),
        ("MiniMax-M3", "minimax", "minimax-explicit"),
        ("gemini-2.5-pro", "gemini", "gemini-explicit"),
        ("claude-opus-5", "anthropic", "anthropic"),
    ],
)
def test_markers_choose_the_explicit_rule(model: str, plain: str, explicit: str) -> None:
    """Providers with two caches use the one that the body asks for."""
    without, marked = told(None, model).rule, told(None, model, marked=True).rule
    assert without is not None
    assert marked is not None
    assert (without.name, marked.name) == (plain, explicit)


def test_an_api_of_one_provider_tells_it() -> None:
    """Converse is Bedrock's; a body of Gemini's has no model in it."""
    converse = told(None, "some-profile", Api.CONVERSE)
    assert converse.how == "api"
    assert told(None, None, Api.GENERATE).how == "api"
    assert told("localhost", None, Api.GENERATE).rule is None


def test_prices_come_with_the_provider() -> None:
    """Bedrock's geographies cost more than the same model elsewhere."""
    direct = told("api.anthropic.com", "claude-opus-5").price
    geographic = told(None, "us.anthropic.claude-opus-5").price
    assert direct is not None
    assert geographic is not None
    assert (direct.input_usd_per_mtok, geographic.input_usd_per_mtok) == (5.0, 5.5)


def test_repeats_are_remembered_and_bounded() -> None:
    """The same call gives the same object; ever new names do not fill memory."""
    book = load_book()
    first = told("api.anthropic.com", "claude-opus-5", book=book)
    assert told("api.anthropic.com", "claude-opus-5", book=book) is first
    for number in range(5000):
        told(None, f"model-{number}", book=book)
    assert len(book.memo) <= 4096


@pytest.mark.parametrize("name", ["", " ", "/", "\ud800", "a" * 100_000, "[1m]", "*", "us..", "@"])
def test_odd_names_resolve_to_nothing(name: str) -> None:
    """No name of a model or host breaks anything."""
    assert told(None, name).rule is None
    assert told(name, None).rule is None


def test_models_of_one_minimum_share_a_rule() -> None:
    """Rules that differ in nothing are one object, so that callers may keep state by it."""
    assert told(None, "claude-opus-5").rule is told(None, "claude-haiku-5-5").rule
    assert told(None, "claude-opus-5").rule is not told(None, "claude-haiku-4-5").rule
