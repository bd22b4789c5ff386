#pragma once
constexpr float kHighest = 6.0f;
